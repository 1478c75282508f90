// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/flow_profile.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "config/flow/flow_means.h"
#include "config/flow/flow_range.h"
#include "config/flow/flow_sections.h"
#include "config/toml/document.h"

namespace lw::config {
namespace {

/// The QPs of one [[flow]]; the first is number `id` of the profile.
std::vector<Flow> read_flow(const Table& table, const FlowContext& context, std::size_t number,
                            std::uint32_t id) {
  Flow flow;
  flow.id = id;
  flow.name = table.get_or("name", read_text, fmt::format("flow{}", number));
  const bool sound = read_message(table, context, flow);
  read_network(table, flow);
  read_next_hop(table, flow);
  read_traffic(table, context, flow);
  // An impossible message has no packets to ask: a stand-in lets the rest be judged.
  if (!sound) flow.message = roce::Message{};
  read_headers(table, flow);
  if (sound) check_places(table, flow);
  read_faults(table, flow);
  flow.means = means_of(flow);
  if (flow.rate.unit == Rate::Unit::goodput && flow.means.payload_bytes == 0) {
    table.refuse("goodput", "expected no such key, as the frames carry no payload");
  }
  std::vector<Flow> flows = read_range(table, flow);
  table.finish();
  return flows;
}

std::vector<Flow> read_flows(const Table& root, const FlowContext& context) {
  const auto defaults = root.table("defaults");
  const std::vector<Table> tables = root.tables("flow");
  if (tables.empty() && !root.has("flow"))
    root.refuse("expected at least one [[flow]], found none");
  std::vector<Flow> flows;
  std::set<std::string> names;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto own = read_flow(defaults ? tables[i].over(*defaults) : tables[i], context, i,
                               static_cast<std::uint32_t>(flows.size()));
    const std::string& name = own.front().name;
    if (!names.insert(name).second) {
      tables[i].refuse("name", fmt::format("expected a name of its own, found \"{}\" again", name));
    }
    flows.insert(flows.end(), own.begin(), own.end());
  }
  if (defaults && !tables.empty()) defaults->finish();
  return flows;
}

/// Flows that together ask for more than the link has are refused with the sum.
void check_link(const Table& root, const FlowProfile& profile) {
  if (!profile.link_bps) return;
  const LinkDemand demand = link_demand(profile.flows);
  if (!exceeds(demand, *profile.link_bps)) return;
  root.refuse("link",
              fmt::format("expected room for {} = {} on the wire, found {}", demand.parts,
                          format_bit_rate(demand.wire_bits), format_bit_rate(*profile.link_bps)));
}

Result<FlowProfile> read_profile(Document document) {
  const Table root = document.root();
  FlowProfile profile;
  profile.name = root.get_or("name", read_text, document.name());
  profile.seed = root.get_or("seed", integer<std::uint64_t>(), 1);
  profile.link_bps = root.get("link", parse_bit_rate);
  profile.flows = read_flows(root, {document.name(), profile.link_bps});
  if (const auto expect = root.table("expect")) profile.expect = read_expect(*expect);
  profile.presence = read_presence(root);
  root.finish();
  const bool nothing_else_wrong = document.verdict().has_value();
  if (profile.flows.empty() && nothing_else_wrong) {
    root.refuse("expected at least one [[flow]], found none");
  }
  if (nothing_else_wrong) check_link(root, profile);
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  return profile;
}

}  // namespace

std::string beside(const std::string& profile, const std::string& file) {
  return (std::filesystem::path(profile).parent_path() / file).string();
}

std::string full_name(const Flow& flow) {
  return flow.qps == 1 ? flow.name : fmt::format("{}[{}]", flow.name, flow.qp);
}

Result<FlowProfile> load_flow_profile(const std::string& path) {
  auto document = Document::load(path);
  if (!document) return std::unexpected(document.error());
  return read_profile(std::move(*document));
}

Result<FlowProfile> parse_flow_profile(std::string_view text, std::string name) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  return read_profile(std::move(*document));
}

}  // namespace lw::config
