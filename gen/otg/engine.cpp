// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/engine.h"

#include <algorithm>
#include <poll.h>

#include <fmt/format.h>

#include "core/json.h"
#include "gen/otg/lab.h"
#include "gen/otg/lab_metrics.h"
#include "gen/otg/limits.h"
#include "gen/otg/messages.h"
#include "gen/otg/requests.h"
#include "nic/clock.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
T message_of(const Json& json, ModelReader& reader) {
  T request;
  reader.read(json, T::message(), &request);
  return request;
}

Answer problems(const ModelReader& reader) { return error_answer(kBadRequest, reader.problems()); }

/// Answers the requests to one configuration.
class Engine {
 public:
  explicit Engine(std::string folder) : folder_(std::move(folder)) {}

  Answer answer(const std::string& path, const Json& body);
  /// One round, if there is a configuration. Returns false if a port failed: see failure().
  bool poll() {
    if (!lab_ || failure_) return false;
    if (auto polled = lab_->poll(); !polled) failure_ = polled.error();
    return !failure_;
  }

 private:
  Answer configure(const Json& body);
  Answer append(const Json& body);
  Answer remove(const Json& body);
  Answer control(const Json& body);
  Answer set_port(const PortState& state);
  Answer set_protocol(const ProtocolState& state);
  Answer set_traffic(const TrafficState& state);
  Answer monitor(const std::string& path, const Json& body);
  /// Goes on until `done` or `most` is over; returns whether it is done.
  template <class Done>
  bool poll_until(Done done, Duration most);

  std::string folder_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<Lab> lab_;
  std::optional<Error> failure_;
};

template <class Done>
bool Engine::poll_until(Done done, Duration most) {
  const Instant until = nic::now() + most;
  while (!done()) {
    if (nic::now() >= until || !poll()) return false;
  }
  return true;
}

Answer Engine::answer(const std::string& path, const Json& body) {
  if (failure_) return error_answer(*failure_);
  if (path == "/config") return configure(body);
  if (!lab_) return error_answer(kBadRequest, {"there is no configuration"});
  if (path == "/config/append") return append(body);
  if (path == "/config/delete") return remove(body);
  return path == "/control/state" ? control(body) : monitor(path, body);
}

Answer Engine::configure(const Json& body) {
  ModelReader reader;
  LabPlan plan = read_plan(body, reader);
  if (!reader.problems().empty()) return problems(reader);
  auto lab = Lab::open(std::move(plan), folder_, stop_);
  if (!lab) return error_answer(lab.error());
  lab_ = std::move(*lab);
  return warning_answer(lab_->warnings());
}

Answer Engine::append(const Json& body) {
  ModelReader reader;
  const auto asked = message_of<ConfigAppend>(body, reader);
  std::vector<FlowMessage> flows;
  for (const AppendResources& each : asked.resources)
    flows.insert(flows.end(), each.flows.begin(), each.flows.end());
  if (reader.problems().empty()) lab_->append(flows, reader);
  return reader.problems().empty() ? warning_answer({}) : problems(reader);
}

Answer Engine::remove(const Json& body) {
  ModelReader reader;
  const auto asked = message_of<ConfigDelete>(body, reader);
  std::vector<std::string> names;
  for (const DeleteResources& each : asked.resources)
    names.insert(names.end(), each.flows.begin(), each.flows.end());
  if (reader.problems().empty() && !names.empty()) lab_->remove(names, reader);
  return reader.problems().empty() ? warning_answer({}) : problems(reader);
}

Answer Engine::control(const Json& body) {
  ModelReader reader;
  const auto state = message_of<ControlState>(body, reader);
  if (!reader.problems().empty()) return problems(reader);
  if (state.choice == "port") return set_port(state.port);
  return state.choice == "protocol" ? set_protocol(state.protocol) : set_traffic(state.traffic);
}

Answer Engine::set_port(const PortState& state) {
  ModelReader reader;
  if (state.choice == "link")
    lab_->set_links(state.link, reader);
  else
    lab_->set_captures(state.capture, reader);
  return reader.problems().empty() ? warning_answer({}) : problems(reader);
}

Answer Engine::set_protocol(const ProtocolState& state) {
  ModelReader reader;
  const bool all = state.choice == "all";
  const bool up = (all ? state.all.state : state.rocev2.peers.state) == (all ? "start" : "up");
  lab_->set_peers(all ? std::vector<std::string>{} : state.rocev2.peers.peer_names, up, reader);
  if (!reader.problems().empty()) return problems(reader);
  const bool done = up || poll_until([this] { return lab_->settled(); }, kMostDisconnecting);
  return warning_answer(
      done ? std::vector<std::string>{}
           : std::vector<std::string>{"some QPs had no answer to their disconnect request yet"});
}

Answer Engine::set_traffic(const TrafficState& state) {
  ModelReader reader;
  lab_->set_traffic(state.flow_transmit, reader);
  if (!reader.problems().empty()) return problems(reader);
  const std::string& asked = state.flow_transmit.state;
  const bool ends = asked == "stop" || asked == "pause";
  if (!ends) return warning_answer(lab_->silent_flows());
  const bool done = poll_until([this] { return lab_->drained(); }, kMostDraining);
  return warning_answer(
      done ? std::vector<std::string>{}
           : std::vector<std::string>{"messages of some flows are still outstanding"});
}

Answer Engine::monitor(const std::string& path, const Json& body) {
  ModelReader reader;
  Answer answer;
  if (path == "/monitor/metrics") {
    const auto asked = message_of<MetricsRequest>(body, reader);
    if (reader.problems().empty()) answer.body = LabMetrics(lab_->parts()).metrics(asked, reader);
  } else if (path == "/monitor/states") {
    const auto asked = message_of<StatesRequest>(body, reader);
    if (reader.problems().empty()) answer.body = LabMetrics(lab_->parts()).neighbours(asked);
  } else {
    const auto asked = message_of<CaptureRequest>(body, reader);
    if (reader.problems().empty()) answer.file = lab_->capture_of(asked, reader);
  }
  return reader.problems().empty() ? answer : problems(reader);
}

/// Answers one request. Returns false at the end.
bool serve_one(Engine& engine, const net::Socket& socket) {
  const auto text = receive_text(socket, kMostAnswer, kMostAnswering);
  if (!text) return false;
  const Json json = parse_json(*text);
  if (!json.is_object() || !json.contains("path") || !json.contains("body")) return false;
  const Answer answer = engine.answer(json["path"].get<std::string>(), json["body"]);
  return send_text(socket, to_text(answer), kMostAnswering);
}

}  // namespace

LabPlan read_plan(const Json& json, ModelReader& reader) {
  Config config;
  reader.read(json, Config::message(), &config);
  if (!reader.problems().empty()) return {};
  return make_plan(config, reader);
}

void run_engine(const net::Socket& socket, const std::string& folder) {
  constexpr Duration kBetween = std::chrono::microseconds(200);
  constexpr Duration kIdle = std::chrono::milliseconds(100);
  Engine engine(folder);
  Instant next{};
  while (true) {
    const bool polled = engine.poll();
    if (!polled && !socket.wait_for(POLLIN, kIdle)) continue;
    const Instant now = nic::now();
    if (now < next) continue;
    next = now + kBetween;
    if (has_text(socket) && !serve_one(engine, socket)) return;
  }
}

}  // namespace lw::gen::otg
