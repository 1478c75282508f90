// SPDX-License-Identifier: BSD-3-Clause
#include "roce/field_table.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "wire/cm.h"

namespace lw::roce {
namespace {

using wire::Base;
using wire::CmMessage;
using wire::FieldInfo;
using wire::FieldValue;

// Each lambda finds a header of a frame and calls `use` with the object that the header's fields
// table reads: twice if the frame has two such headers.

constexpr auto kEthernet = [](const Envelope& e, const Frame*, auto use) {
  if (e.ethernet) use(e.ethernet->fields());
};
constexpr auto kVlans = [](const Envelope& e, const Frame*, auto use) {
  for (int i = 0; i < e.vlan_count; ++i) use(e.vlans[i]->fields());
};
constexpr auto kIpv4 = [](const Envelope& e, const Frame*, auto use) {
  if (e.ipv4) use(e.ipv4->fields());
};
constexpr auto kIpv6 = [](const Envelope& e, const Frame*, auto use) {
  if (e.ipv6) use(e.ipv6->fields());
};
constexpr auto kUdp = [](const Envelope& e, const Frame*, auto use) {
  if (e.udp) use(e.udp->fields());
};
constexpr auto kGrh = [](const Envelope& e, const Frame*, auto use) {
  if (e.grh) use(*e.grh);
};
constexpr auto kBth = [](const Envelope&, const Frame* frame, auto use) {
  if (frame) use(frame->bth->fields());
};
constexpr auto kMad = [](const Envelope&, const Frame* frame, auto use) {
  if (frame && frame->mad) use(frame->mad->fields());
};

template <class Header>
constexpr auto kExtension = [](const Envelope&, const Frame* frame, auto use) {
  if (!frame) return;
  wire::for_each_extension(
      [&]<class Other>(wire::Extension, const Other* header) {
        if constexpr (std::is_same_v<Other, Header>)
          if (header) use(header->fields());
      },
      *frame);
};

/// The bytes after the MAD header of a CM message of this kind; empty for any other frame.
Bytes cm_body(const Frame* frame, CmMessage message) {
  if (!frame || !frame->mad) return {};
  const bool is_it = frame->mad->management_class.get() == wire::kMadClassCommunication &&
                     frame->mad->attribute_id.get() == static_cast<std::uint16_t>(message);
  return is_it ? frame->payload.subspan(sizeof(wire::Mad)) : Bytes{};
}

template <class Message, CmMessage kMessage>
constexpr auto kCm = [](const Envelope&, const Frame* frame, auto use) {
  if (const auto* message = wire::view<Message>(cm_body(frame, kMessage))) use(*message);
};

constexpr auto kIpService = [](const Envelope&, const Frame* frame, auto use) {
  const auto* req = wire::view<wire::CmReq>(cm_body(frame, CmMessage::req));
  if (!req || !req->to_ip_service()) return;
  if (const auto* service = wire::view<wire::CmIpService>(Bytes(req->private_data))) use(*service);
};

template <class Values, class Find>
void read_row(const void* opaque, const Envelope& envelope, const Frame* frame, FieldValues& out) {
  const auto& row = *static_cast<const wire::FieldOf<Values>*>(opaque);
  Find{}(envelope, frame, [&](const auto& values) {
    if (row.present(values)) out.add(row.get(values));
  });
}

void read_icrc(const void*, const Envelope&, const Frame* frame, FieldValues& out) {
  if (!frame || frame->icrc.empty()) return;
  out.add(std::uint64_t{wire::view<wire::Be32>(frame->icrc)->get()});
}

class TableBuilder {
 public:
  template <class Values, class Find>
  void add(std::span<const wire::FieldOf<Values>> rows, Find, bool of_connection = false) {
    for (const wire::FieldOf<Values>& row : rows) {
      auto found = std::ranges::find(table_, row.name, &HeaderField::name);
      if (found == table_.end()) {
        table_.push_back({row, row.member(Values{}), of_connection});
        found = std::prev(table_.end());
      }
      found->places.push_back({&read_row<Values, Find>, &row});
    }
  }
  template <class Header, class Find>
  void add_header(Find find) {
    using Values = typename Header::Fields;
    add<Values>(Header::kFields, find);
  }
  template <class Message, CmMessage kMessage>
  void add_cm() {
    add<Message>(wire::cm_fields(Message{}), kCm<Message, kMessage>, true);
  }
  template <CmMessage kMessage>
  void add_ids() {
    add<wire::CmPair>(wire::cm_id_fields(kMessage), kCm<wire::CmPair, kMessage>, true);
  }
  void add_icrc() {
    const FieldInfo info{.name = "infiniband.invariant.crc",
                         .help = "invariant CRC of the frame",
                         .base = Base::hex,
                         .digits = 8,
                         .bits = 32};
    table_.push_back({info, std::uint64_t{0}, false, {{&read_icrc, nullptr}}});
  }
  std::vector<HeaderField> release_fields() { return std::move(table_); }

 private:
  std::vector<HeaderField> table_;
};

std::vector<HeaderField> make_table() {
  TableBuilder table;
  table.add_header<wire::Ethernet>(kEthernet);
  table.add_header<wire::Vlan>(kVlans);
  table.add_header<wire::Ipv4>(kIpv4);
  table.add_header<wire::Ipv6>(kIpv6);
  table.add_header<wire::Udp>(kUdp);
  table.add<wire::Grh>(wire::kGrhFields, kGrh);
  table.add_header<wire::Bth>(kBth);
  wire::for_each_extension(
      [&]<class Header>(wire::Extension) { table.add_header<Header>(kExtension<Header>); });
  table.add_header<wire::Mad>(kMad);
  table.add_ids<CmMessage::rej>();
  table.add_ids<CmMessage::rtu>();
  table.add_ids<CmMessage::dreq>();
  table.add_ids<CmMessage::drep>();
  table.add_cm<wire::CmReq, CmMessage::req>();
  table.add<wire::CmIpService>(wire::cm_fields(wire::CmIpService{}), kIpService, true);
  table.add_cm<wire::CmRep, CmMessage::rep>();
  table.add_cm<wire::CmRej, CmMessage::rej>();
  table.add_cm<wire::CmDreq, CmMessage::dreq>();
  table.add_icrc();
  return table.release_fields();
}

// Written without format strings, because a list writes millions of these.

void append_decimal(std::string& out, std::uint64_t number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

/// Writes at least `digits` digits.
void append_hex(std::string& out, std::uint64_t number, unsigned digits) {
  constexpr unsigned kMost = 16;
  char text[kMost];
  unsigned at = kMost;
  do {
    text[--at] = "0123456789abcdef"[number & 0xf];
    number >>= 4;
  } while (at > 0 && (number != 0 || kMost - at < digits));
  out.append(text + at, kMost - at);
}

void append_bytes(std::string& out, Bytes bytes) {
  for (const std::byte b : bytes) append_hex(out, std::to_integer<std::uint64_t>(b), 2);
}

void append_ipv4(std::string& out, const wire::Ipv4Address& address) {
  const char* separator = "";
  for (const std::byte b : address.bytes) {
    out += separator;
    separator = ".";
    append_decimal(out, std::to_integer<std::uint64_t>(b));
  }
}

void append_address(std::string& out, Base base, const wire::Ipv6Address& address) {
  if (base == Base::bytes) return append_bytes(out, address.bytes);
  if (base == Base::decimal) {
    out += to_string(address);
    return;
  }
  wire::Ipv4Address ipv4;
  std::copy_n(address.bytes.begin() + 12, 4, ipv4.bytes.begin());
  append_ipv4(out, ipv4);
}

}  // namespace

FieldValues HeaderField::read(const Envelope& envelope, const Frame* frame) const {
  FieldValues found;
  for (const Place& place : places) {
    place.read(place.row, envelope, frame, found);
    if (found.count > 0) break;
  }
  return found;
}

std::span<const HeaderField> header_fields() {
  static const std::vector<HeaderField> kTable = make_table();
  return kTable;
}

void append_value(std::string& out, const FieldInfo& info, const FieldValue& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    if (info.base == Base::decimal) return append_decimal(out, *number);
    if (info.base == Base::hex) out += "0x";
    append_hex(out, *number, info.digits);
  } else if (const auto* ipv6 = std::get_if<wire::Ipv6Address>(&value)) {
    append_address(out, info.base, *ipv6);
  } else if (const auto* ipv4 = std::get_if<wire::Ipv4Address>(&value)) {
    append_ipv4(out, *ipv4);
  } else {
    out += to_string(std::get<wire::MacAddress>(value));
  }
}

}  // namespace lw::roce
