// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/profile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "config/flow/headers.h"
#include "config/flow/hosts.h"
#include "config/flow/network.h"
#include "config/flow/qp_range.h"
#include "config/flow/questions.h"
#include "config/toml/document.h"
#include "config/toml/expectations.h"
#include "config/toml/profile_search.h"
#include "core/names.h"
#include "core/quantity.h"
#include "wire/ethernet.h"

namespace lw::config {
namespace {

/// Reads [expect]: the names of questions, and paths of figures. Refuses a key with a spelling
/// similar to a question's.
std::vector<Expectation> read_expect(const Table& table) {
  std::vector<Expectation> all;
  std::vector<std::string_view> names;
  for (const Question& question : kFlowQuestions) {
    names.push_back(question.name);
    std::ranges::move(read_limits(table, question), std::back_inserter(all));
  }
  for (const std::string_view key : table.keys()) {
    const bool is_question = std::ranges::find(names, key) != names.end();
    if (is_question || table.get(key, is_table).value_or(false)) continue;
    if (const std::string_view near = nearest(key, names); !near.empty())
      table.refuse(key, fmt::format("unknown key \"{}\": did you mean \"{}\"?", key, near));
  }
  std::ranges::move(read_expectations(table, names), std::back_inserter(all));
  table.finish();
  return all;
}

/// Reads [[flow]] number `number` and adds its QPs to `flows`.
void read_flow(const Table& table, const FlowContext& context, const std::vector<RankHost>& hosts,
               std::size_t number, std::vector<Flow>& flows) {
  Flow flow;
  flow.id = static_cast<std::uint32_t>(flows.size());
  flow.name = table.get_or("name", read_text, fmt::format("flow{}", number));
  read_host_of_flow(table, hosts, flow);
  const bool valid = read_message(table, context, flow);
  read_network(table, flow);
  read_next_hop(table, flow);
  read_traffic(table, context, flow);
  // Substitute a valid message, so that the other keys can be checked.
  if (!valid) flow.message = roce::MessageFields{};
  read_headers(table, flow);
  if (valid) check_unused_keys(table, flow);
  read_faults(table, flow);
  flow.means = means_of(flow);
  if (flow.rate.unit == Rate::Unit::goodput && flow.means.payload_bytes == 0) {
    table.refuse("goodput", "expected no goodput, as the frames carry no payload");
  }
  read_qp_range(table, flow, flows);
  table.finish();
}

std::vector<Flow> read_flows(const Table& root, const FlowContext& context,
                             const std::vector<RankHost>& hosts) {
  const auto defaults = root.table("defaults");
  std::vector<Table> tables = root.tables("flow");
  if (tables.empty() && !root.has("flow"))
    root.refuse("expected at least one [[flow]], found none");
  if (defaults)
    for (Table& table : tables) table = table.with_defaults(*defaults);
  std::vector<Flow> flows;
  if (!check_qp_count(tables)) return flows;
  std::set<std::string> names;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    read_flow(tables[i], context, hosts, i, flows);
    const std::string& name = flows.back().name;
    if (!names.insert(name).second) {
      tables[i].refuse("name", fmt::format("expected a unique name, found \"{}\" again", name));
    }
  }
  if (defaults && !tables.empty()) defaults->finish();
  return flows;
}

/// Refuses flows whose peak rates together exceed the link.
void check_link(const Table& root, const FlowProfile& profile) {
  if (!profile.link_bps) return;
  const LinkDemand demand = link_demand(profile.flows);
  if (!exceeds(demand, *profile.link_bps)) return;
  root.refuse("link",
              fmt::format("expected at least {} = {} on the wire, found {}", demand.parts,
                          format_bit_rate(demand.wire_bits), format_bit_rate(*profile.link_bps)));
}

Result<FlowProfile> read_flow_profile(Document document) {
  const Table root = document.root();
  FlowProfile profile;
  profile.name = root.get_or("name", read_text, document.name());
  profile.seed = root.get_or("seed", integer<std::uint64_t>(), 1);
  profile.link_bps = root.get("link", parse_bit_rate);
  profile.hosts = read_hosts(root);
  profile.flows = read_flows(root, {document.name(), profile.link_bps}, profile.hosts);
  if (const auto expect = root.table("expect")) profile.expect = read_expect(*expect);
  profile.presence = read_arp_config(root);
  root.finish();
  const bool no_errors = document.verdict().has_value();
  if (profile.flows.empty() && no_errors) {
    root.refuse("expected at least one [[flow]], found none");
  }
  if (no_errors) check_link(root, profile);
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  return profile;
}

/// Size of one packet on the wire, with preamble, FCS and gap.
std::uint64_t wire_bytes(roce::FrameFields& fields, const roce::MessagePacket& packet) {
  fields.bth.opcode = packet.opcode;
  const std::size_t size = roce::layout_of(fields, packet.payload).size;
  return std::max(size, std::size_t{wire::kEthernetMinimum}) + wire::kEthernetOverhead;
}

void add_packet(MessageMeans& costs, roce::FrameFields& fields, const roce::MessageFields& message,
                std::uint32_t index, std::uint32_t times) {
  const auto packet = packet_of(message, index);
  costs.frames += times;
  costs.wire_bytes += static_cast<double>(wire_bytes(fields, packet)) * times;
  costs.payload_bytes += static_cast<double>(packet.payload) * times;
}

/// Adds the cost of one message of `length` bytes.
void add_message(MessageMeans& costs, const Flow& flow, roce::FrameFields& fields,
                 std::uint64_t length) {
  roce::MessageFields message = flow.message;
  message.length = length;
  const std::uint32_t count = packet_count(message);
  add_packet(costs, fields, message, 0, 1);
  if (count > 1) add_packet(costs, fields, message, count - 1, 1);
  if (count > 2) add_packet(costs, fields, message, 1, count - 2);
}

}  // namespace

std::string full_name(const Flow& flow) {
  return flow.qps == 1 ? flow.name : fmt::format("{}[{}]", flow.name, flow.qp);
}

Result<FlowProfile> load_flow_profile(const std::string& path,
                                      std::span<const std::string> changes) {
  auto document = Document::find(path, kFlowProfiles);
  if (!document) return std::unexpected(document.error());
  const auto edits = document->edits_of("flow", changes);
  if (!edits) return std::unexpected(edits.error());
  for (const Edit& edit : *edits)
    if (auto applied = document->apply(edit); !applied) return std::unexpected(applied.error());
  return read_flow_profile(std::move(*document));
}

std::string words_of(const FlowProfile& profile) {
  double bps = 0;
  std::size_t flows = 0;
  for (const Flow& flow : profile.flows) {
    bps += mean_wire_bits(flow);
    if (flow.qp == 0) ++flows;
  }
  return fmt::format("{} flow{}, {} on the wire", flows, flows == 1 ? "" : "s",
                     format_bit_rate(bps));
}

Result<FlowProfile> parse_flow_profile(std::string_view text, std::string name) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  return read_flow_profile(std::move(*document));
}

MessageMeans means_of(const Flow& flow) {
  roce::FrameFields fields = flow.frame;
  MessageMeans means;
  if (!flow.sizes.vary()) {
    add_message(means, flow, fields, flow.message.length);
    return means;
  }
  const auto sizes = flow.sizes.representatives();
  for (const std::uint64_t size : sizes) add_message(means, flow, fields, size);
  const auto count = static_cast<double>(sizes.size());
  return {means.frames / count, means.wire_bytes / count, means.payload_bytes / count};
}

double mean_wire_bits(const Flow& flow) {
  if (flow.rate.unit == Rate::Unit::wire_bits) return flow.rate.value;
  const MessageMeans& means = flow.means;
  const double wire_bits = 8 * means.wire_bytes;
  switch (flow.rate.unit) {
    case Rate::Unit::frames:
      return flow.rate.value / means.frames * wire_bits;
    case Rate::Unit::messages:
      return flow.rate.value * wire_bits;
    default:
      return means.payload_bytes > 0 ? flow.rate.value / (8 * means.payload_bytes) * wire_bits : 0;
  }
}

double peak_wire_bits(const Flow& flow) {
  const double mean = mean_wire_bits(flow);
  if (flow.arrival != ArrivalProcess::on_off) return mean;
  const auto on = static_cast<double>(flow.on.count());
  return mean * (on + static_cast<double>(flow.off.count())) / on;
}

LinkDemand link_demand(const std::vector<Flow>& flows, std::size_t first, std::size_t step) {
  LinkDemand demand;
  for (std::size_t i = first; i < flows.size();) {
    const Flow& flow = flows[i];
    double sum = 0;  // of one [[flow]]
    for (; i < flows.size() && flows[i].name == flow.name; i += step) {
      sum += peak_wire_bits(flows[i]);
    }
    demand.parts +=
        fmt::format("{}{} {}", demand.parts.empty() ? "" : " + ", flow.name, format_bit_rate(sum));
    demand.wire_bits += sum;
  }
  return demand;
}

bool exceeds(const LinkDemand& demand, double link_bps) {
  constexpr double kRounding = 1e-9;
  return demand.wire_bits > link_bps * (1 + kRounding);
}

}  // namespace lw::config
