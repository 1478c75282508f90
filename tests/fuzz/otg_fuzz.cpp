// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as the body of each request of roce-gen otg, and as the private data of a connection
// request: a body is read, or each of its problems is named; a plan without problems is whole; what
// is read of an offer is written so that it reads the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/limits.h"
#include "gen/otg/body.h"
#include "gen/otg/limits.h"
#include "gen/otg/offer.h"
#include "gen/otg/packet_frame.h"
#include "gen/otg/plan.h"
#include "gen/otg/requests.h"
#include "gen/otg/yaml.h"

namespace {

using namespace lw::gen::otg;
using Json = nlohmann::ordered_json;

void check_problems(const ModelReader& reader) {
  if (reader.problems().size() > kMostProblems) std::abort();
  for (const std::string& problem : reader.problems())
    if (problem.find(": ") == std::string::npos) std::abort();
}

template <class T>
void check_request(const Json& json) {
  ModelReader reader;
  T request;
  reader.read(json, T::message(), &request);
  check_problems(reader);
}

void check(bool holds) {
  if (!holds) std::abort();
}

/// All that the plan's members refer to is there.
void check_plan(const LabPlan& plan) {
  for (const PlannedHost& host : plan.hosts) check(host.port < plan.ports.size());
  for (const PlannedPeer& peer : plan.peers) check(peer.host < plan.hosts.size());
  for (const PlannedFlow& flow : plan.flows) {
    check(flow.qp < plan.qps.size());
    check(flow.size > 0 && flow.size <= lw::kMostMessage);
  }
  for (std::size_t i = 0; i < plan.qps.size(); ++i) {
    const PlannedQp& qp = plan.qps[i];
    check(qp.host < plan.hosts.size() && qp.peer < plan.peers.size());
    check(qp.number >= 2 && qp.number <= 0xffffff && qp.rated_port < plan.ports.size());
    if (!qp.partner) continue;
    check(plan.qps[*qp.partner].partner == i && plan.qps[*qp.partner].order == qp.order);
  }
}

/// All frames of a flow are as long as asked, and read no byte beyond.
void check_packets(const LabPlan& plan, const PlannedPackets& flow) {
  check(flow.port < plan.ports.size() && flow.sizes.largest() <= kMostFrame);
  for (const std::size_t port : flow.rx_ports) check(port < plan.ports.size());
  std::optional<PacketDefaults> ends;
  if (!flow.ends.empty()) {
    const PlannedHost &from = plan.hosts.at(flow.ends[0].from),
                      &to = plan.hosts.at(flow.ends[0].to);
    ends = {.source = from.own.mac, .from = from.own.ip, .to = to.own.ip, .vlan = from.vlan};
  }
  const PacketFrame frame(flow, ends ? &*ends : nullptr);
  const lw::wire::SignatureFields signature{.flow = 1};
  for (std::uint64_t number = 0; number < 3; ++number) {
    std::vector<std::byte> bytes(
        PacketFrame::length_of(number == 0 ? flow.sizes.smallest() : flow.sizes.largest()));
    frame.write(number, &signature, bytes);
    check(frame.matches(bytes));
  }
}

void check_config(const Json& json) {
  ModelReader reader;
  Config config;
  reader.read(json, Config::message(), &config);
  if (reader.problems().empty()) {
    const LabPlan plan = make_plan(config, reader);
    if (reader.problems().empty()) {
      check_plan(plan);
      for (const PlannedPackets& flow : plan.packets) check_packets(plan, flow);
    }
  }
  check_problems(reader);
}

/// Text that is YAML becomes JSON, or its problem is named.
void check_yaml(std::string_view text) {
  if (const auto body = read_body(text)) check(*body == lw::parse_json(text));
  const auto json = json_of_yaml(text);
  check(json ? !lw::parse_json(*json).is_discarded() : !json.error().message.empty());
}

void check_offer(lw::wire::Bytes bytes) {
  const auto offer = read_offer(bytes);
  if (!offer) return;
  check(read_offer(to_private_data(*offer)) == offer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_offer(lw::wire::Bytes(reinterpret_cast<const std::byte*>(data), size));
  check_yaml({reinterpret_cast<const char*>(data), size});
  const Json json = lw::parse_json({reinterpret_cast<const char*>(data), size});
  check_config(json);
  check_request<ControlState>(json);
  check_request<ControlAction>(json);
  check_request<ConfigAppend>(json);
  check_request<ConfigDelete>(json);
  check_request<MetricsRequest>(json);
  check_request<StatesRequest>(json);
  check_request<CaptureRequest>(json);
  return 0;
}
