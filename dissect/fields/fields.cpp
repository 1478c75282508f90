// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/fields.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lw::dissect {

std::string FieldList::find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  return found == fields_.end() ? std::string{} : to_string(*found);
}

std::string to_string(const Field& field) {
  if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
    return fmt::format("{}", *number);
  }
  if (const auto* hex = std::get_if<Hex>(&field.value)) {
    return fmt::format("0x{:0{}x}", hex->value, hex->digits);
  }
  return std::get<std::string>(field.value);
}

std::string_view name_of(roce::IcrcVerdict verdict) noexcept {
  switch (verdict) {
    case roce::IcrcVerdict::not_roce:
      return "not_roce";
    case roce::IcrcVerdict::ok:
      return "ok";
    case roce::IcrcVerdict::bad:
      return "bad";
    case roce::IcrcVerdict::unverifiable:
      return "unverifiable";
  }
  return "";
}

Dissection dissect_frame(const CapturedFrame& captured) {
  return {captured, roce::parse(captured.envelope), roce::check_icrc(captured.envelope)};
}

void append_fields(FieldList& fields, const Dissection& dissection) {
  append_envelope_fields(fields, dissection.captured);
  if (dissection.icrc == roce::IcrcVerdict::not_roce) return;
  if (!dissection.frame) {
    fields.text("longwire.icrc", std::string(name_of(dissection.icrc)));
    fields.text("longwire.problem", roce::to_string(dissection.frame.error()));
    return;
  }
  const roce::Frame& frame = *dissection.frame;
  append_transport_fields(fields, frame);
  append_mad_fields(fields, frame);
  if (!frame.icrc.empty()) {
    const auto* crc = wire::view<wire::Be32>(frame.icrc);
    fields.hex("infiniband.invariant.crc", crc->get(), 8);
  }
  if (frame.info) fields.text("longwire.opcode", std::string(frame.info->name));
  fields.number("longwire.payload_length", frame.payload_length);
  fields.text("longwire.icrc", std::string(name_of(dissection.icrc)));
  if (dissection.icrc == roce::IcrcVerdict::bad) {
    if (const auto place = roce::expected_icrc(frame.envelope)) {
      fields.hex("longwire.icrc_expected", __builtin_bswap32(place->expected), 8);
    }
  }
  if (frame.defect) fields.text("longwire.problem", roce::to_string(*frame.defect));
}

namespace {

constexpr auto kCsvColumns = std::to_array<std::string_view>({
    "frame.number",
    "frame.time_epoch",
    "frame.len",
    "frame.cap_len",
    "frame.interface_id",
    "frame.comment",
    "eth.dst",
    "eth.src",
    "eth.type",
    "vlan.id",
    "vlan.priority",
    "ip.src",
    "ip.dst",
    "ip.dsfield.dscp",
    "ip.dsfield.ecn",
    "ip.id",
    "ip.ttl",
    "ip.proto",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.tclass.dscp",
    "ipv6.tclass.ecn",
    "ipv6.flow",
    "ipv6.hlim",
    "ipv6.nxt",
    "udp.srcport",
    "udp.dstport",
    "udp.length",
    "infiniband.grh.ipver",
    "infiniband.grh.tclass",
    "infiniband.grh.flowlabel",
    "infiniband.grh.paylen",
    "infiniband.grh.nxthdr",
    "infiniband.grh.hoplmt",
    "infiniband.grh.sgid",
    "infiniband.grh.dgid",
    "infiniband.bth.opcode",
    "infiniband.bth.se",
    "infiniband.bth.m",
    "infiniband.bth.padcnt",
    "infiniband.bth.tver",
    "infiniband.bth.p_key",
    "infiniband.bth.fecn",
    "infiniband.bth.becn",
    "infiniband.bth.reserved6",
    "infiniband.bth.destqp",
    "infiniband.bth.a",
    "infiniband.bth.reserved7",
    "infiniband.bth.psn",
    "infiniband.rdeth.eecnxt",
    "infiniband.deth.q_key",
    "infiniband.deth.srcqp",
    "infiniband.xrceth.xrcsrq",
    "infiniband.feth.plt",
    "infiniband.feth.sel",
    "infiniband.reth.va",
    "infiniband.reth.r_key",
    "infiniband.reth.dmalen",
    "infiniband.atomiceth.swapdt",
    "infiniband.atomiceth.cmpdt",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.syndrome.reserved",
    "infiniband.aeth.syndrome.opcode",
    "infiniband.aeth.syndrome.credit_count",
    "infiniband.aeth.syndrome.timer",
    "infiniband.aeth.syndrome.reserved_value",
    "infiniband.aeth.syndrome.error_code",
    "infiniband.aeth.msn",
    "infiniband.atomicacketh.origremdt",
    "infiniband.immdt",
    "infiniband.ieth",
    "infiniband.mad.mgmtclass",
    "infiniband.mad.method",
    "infiniband.mad.transactionid",
    "infiniband.mad.attributeid",
    "infiniband.invariant.crc",
    "longwire.opcode",
    "longwire.payload_length",
    "longwire.icrc",
    "longwire.icrc_expected",
    "longwire.problem",
});

}  // namespace

std::span<const std::string_view> csv_columns() { return kCsvColumns; }

}  // namespace lw::dissect
