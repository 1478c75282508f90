// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/qp_range.h"

#include <span>

#include <fmt/format.h>

#include "config/limits.h"
#include "config/toml/table.h"
#include "wire/udp.h"

namespace lw::config {
namespace {

using wire::Encapsulation;

/// Values of a key over the QPs: a list, and the step that each cycle through it adds.
template <class T>
struct Series {
  std::vector<T> values;  // empty: steps from the first QP's value
  std::uint64_t step = 0;
};

template <class Read>
auto read_series(const Table& table, std::string_view key, Read read, std::uint64_t step = 0) {
  Series<ReadResult<Read>> series;
  series.values = table.get_or(key, some_of(read), {});
  const std::string step_key = std::string(key) + "_step";
  series.step = table.get_or(step_key, integer<std::uint64_t>(), step);
  return series;
}

/// Adds to a big-endian number, modulo 2^width.
void add_to(std::span<std::byte> number, std::uint64_t amount) noexcept {
  std::uint64_t carry = 0;
  for (std::size_t i = number.size(); i-- > 0; amount >>= 8) {
    carry += (amount & 0xff) + std::to_integer<std::uint64_t>(number[i]);
    number[i] = static_cast<std::byte>(carry & 0xff);
    carry >>= 8;
  }
}

/// The value of QP number `qp`.
template <class T>
T at(const Series<T>& series, std::uint32_t qp, T first) {
  const std::size_t round = series.values.empty() ? 1 : series.values.size();
  const T base = series.values.empty() ? first : series.values[qp % round];
  return static_cast<T>(base + qp / round * series.step);
}

wire::IpAddress at(const Series<wire::IpAddress>& series, std::uint32_t qp, wire::IpAddress first) {
  const std::size_t round = series.values.empty() ? 1 : series.values.size();
  wire::IpAddress ip = series.values.empty() ? first : series.values[qp % round];
  std::visit([&](auto& address) { add_to(address.bytes, qp / round * series.step); }, ip);
  return ip;
}

/// Source or destination address of the frame's IP header or GRH.
wire::IpAddress address_of(const roce::FrameFields& frame, bool source) {
  if (frame.encapsulation == Encapsulation::ipv4) {
    return source ? frame.ipv4.source : frame.ipv4.destination;
  }
  return source ? frame.ipv6.source : frame.ipv6.destination;
}

void set_address(roce::FrameFields& frame, bool source, const wire::IpAddress& ip) {
  if (const auto* v4 = std::get_if<wire::Ipv4Address>(&ip)) {
    if (frame.encapsulation == Encapsulation::ipv4) {
      (source ? frame.ipv4.source : frame.ipv4.destination) = *v4;
      return;
    }
    // A GID holds it in the last four bytes; the others stay those of the first QP.
    auto& gid = source ? frame.ipv6.source : frame.ipv6.destination;
    std::copy(v4->bytes.begin(), v4->bytes.end(), gid.bytes.begin() + 12);
    return;
  }
  (source ? frame.ipv6.source : frame.ipv6.destination) = std::get<wire::Ipv6Address>(ip);
}

/// All keys that may differ between the QPs of a [[flow]].
struct Range {
  std::uint32_t qps = 1;
  Series<std::uint32_t> dst_qp, src_qp, first_psn, rkey;
  Series<std::uint64_t> va;
  Series<wire::IpAddress> source, destination;
  Series<std::uint16_t> source_port;
  std::uint64_t source_mac_step = 0, destination_mac_step = 0;
  bool linux_port = true;
};

const auto kQps = integer<std::uint32_t>(1, kMostQps);

Range read(const Table& table) {
  const auto u24 = integer<std::uint32_t>(0, kMax24);
  const auto u64 = integer<std::uint64_t>();
  Range range;
  range.qps = table.get_or("qps", kQps, 1);
  // QPNs are unique by default.
  range.dst_qp = read_series(table, "dst_qp", u24, 1);
  range.src_qp = read_series(table, "src_qp", u24, 1);
  range.first_psn = read_series(table, "first_psn", u24);
  range.rkey = read_series(table, "rkey", integer<std::uint32_t>());
  range.va = read_series(table, "va", u64);
  range.source = read_series(table, "source", read_ip);
  range.destination = read_series(table, "destination", read_ip);
  range.source_mac_step = table.get_or("source_mac_step", u64, 0);
  range.destination_mac_step = table.get_or("destination_mac_step", u64, 0);
  const auto ports = table.get("source_port", read_source_ports);
  range.source_port.values = ports.value_or(std::vector<std::uint16_t>{});
  range.source_port.step = table.get_or("source_port_step", u64, 0);
  range.linux_port = range.source_port.values.empty();
  return range;
}

void check(const Table& table, const Range& range) {
  const auto check_family = [&](std::string_view key, const Series<wire::IpAddress>& series) {
    for (const wire::IpAddress& ip : series.values) {
      if (ip.index() == series.values[0].index()) continue;
      table.refuse(key, "expected addresses of one family, found two");
      return;
    }
  };
  check_family("source", range.source);
  check_family("destination", range.destination);
  const auto check_length = [&](std::string_view key, std::size_t values) {
    if (values <= range.qps) return;
    table.refuse(
        key, fmt::format("expected at most one value per QP ({}), found {}", range.qps, values));
  };
  check_length("dst_qp", range.dst_qp.values.size());
  check_length("src_qp", range.src_qp.values.size());
  check_length("first_psn", range.first_psn.values.size());
  check_length("rkey", range.rkey.values.size());
  check_length("va", range.va.values.size());
  check_length("source", range.source.values.size());
  check_length("destination", range.destination.values.size());
  check_length("source_port", range.source_port.values.size());
  if (range.linux_port && table.has_own("source_port_step")) {
    table.refuse("source_port_step", "expected only with numeric source ports, found none");
  }
}

Flow make_qp(const Range& range, const Flow& first, std::uint32_t qp) {
  Flow flow = first;
  roce::FrameFields& frame = flow.frame;
  flow.id = first.id + qp;
  flow.qp = qp;
  flow.qps = range.qps;
  frame.bth.dest_qp = at(range.dst_qp, qp, frame.bth.dest_qp) & kMax24;
  frame.deth.src_qp = at(range.src_qp, qp, frame.deth.src_qp) & kMax24;
  if (flow.message.operation != wire::Operation::cnp) {
    flow.message.first_psn = wire::Psn{at(range.first_psn, qp, flow.message.first_psn.value())};
  }
  frame.reth.r_key = frame.atomiceth.r_key = at(range.rkey, qp, frame.reth.r_key);
  frame.reth.va = frame.atomiceth.va = at(range.va, qp, frame.reth.va);
  set_address(frame, true, at(range.source, qp, address_of(frame, true)));
  set_address(frame, false, at(range.destination, qp, address_of(frame, false)));
  add_to(frame.source_mac.bytes, qp * range.source_mac_step);
  add_to(frame.destination_mac.bytes, qp * range.destination_mac_step);
  frame.source_port =
      range.linux_port ? linux_source_port(frame) : at(range.source_port, qp, frame.source_port);
  flow.rate.value /= range.qps;
  return flow;
}

}  // namespace

bool check_qp_count(const std::vector<Table>& flows) {
  std::uint64_t qps = 0;
  for (const Table& flow : flows) {
    qps += flow.get_or("qps", kQps, 1);
    if (qps <= kMostQps) continue;
    flow.refuse(flow.has("qps") ? "qps" : "name",
                fmt::format("expected at most {} QPs in all flows, found more", kMostQps));
    return false;
  }
  return true;
}

void read_qp_range(const Table& table, const Flow& first, std::vector<Flow>& flows) {
  const Range range = read(table);
  check(table, range);
  if (flows.empty()) flows.reserve(range.qps);
  for (std::uint32_t qp = 0; qp < range.qps; ++qp) flows.push_back(make_qp(range, first, qp));
}

Parsed<std::vector<std::uint16_t>> read_source_ports(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text != nullptr && *text == "linux") return std::vector<std::uint16_t>{};
  return some_of(integer<std::uint16_t>())(value);
}

std::uint16_t linux_source_port(const roce::FrameFields& frame) noexcept {
  const bool has_label = frame.encapsulation != Encapsulation::ipv4 && frame.ipv6.flow_label != 0;
  return wire::flow_label_to_source_port(
      has_label ? frame.ipv6.flow_label
                : wire::flow_label_of_qps(frame.deth.src_qp, frame.bth.dest_qp));
}

}  // namespace lw::config
