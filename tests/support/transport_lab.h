// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/simulation.h"
#include "wire/aeth.h"

namespace lw::test {

inline constexpr std::uint64_t kLabVa = 0x10000;
inline constexpr std::uint32_t kLabKey = 0xabc;

/// Faults of the packets in one direction: random, with probabilities in [0, 1], or of single
/// packets.
struct Faults {
  double loss = 0, corruption = 0, duplication = 0, reordering = 0;
  Duration reorder_delay{};  // additional delay of a reordered packet
  std::uint64_t seed = 1;
  std::vector<emulator::EventConfig> events = {};

  /// Returns the emulator's rules for these faults; null if there are none.
  [[nodiscard]] std::shared_ptr<const perf::PathRules> rules(const char* name) const {
    if (loss + corruption + duplication + reordering == 0 && events.empty()) return nullptr;
    emulator::RuleConfig rule;
    rule.name = name;
    rule.match = emulator::MatchedFrames::rocev2;
    rule.loss = loss;
    if (corruption > 0) rule.corrupt = {.probability = corruption};
    if (duplication > 0) rule.duplicate = {.probability = duplication};
    if (reordering > 0) rule.reorder = {.fraction = reordering, .by = reorder_delay};
    return std::make_shared<perf::PathRules>(
        perf::PathRules{.seed = 1, .rules = {rule}, .events = events});
  }
};

/// Returns an event for the `nth` packet, from 1, of this kind to this QP with this PSN.
inline emulator::EventConfig packet_event(std::uint32_t dest_qpn, std::uint32_t psn,
                                          emulator::PacketKind kind, emulator::EventAction action,
                                          std::uint32_t nth = 1) {
  emulator::EventConfig event;
  event.name = fmt::format("{} {} {}", name_of(kind), psn, nth);
  event.qpn = dest_qpn;
  event.on = kind;
  event.psn_from = emulator::PsnFrom::absolute;
  event.psn = psn;
  event.occurrence = nth;
  event.action = action;
  return event;
}

/// A client and a server with real memory and a short path between them, and a log of all packets.
struct LabConfig {
  transport::QpConfig qp;
  perf::NicConfig nic = {.rate_bps = 10e9, .latency = Duration{0}};
  Faults there, back;
  Duration delay{10'000};
  std::uint64_t memory = 1 << 16;
  std::uint32_t qps = 1;
};

/// Returns a line such as "10.123 -> RC WRITE ONLY psn 7 ack".
inline std::string packet_line(Instant at, const char* arrow, const transport::Packet& packet) {
  const auto* info = wire::find_opcode(packet.opcode);
  std::string text = fmt::format("{:9.3f} {} {} psn {}", static_cast<double>(to_ns(at)) / 1000,
                                 arrow, info->name, packet.psn.value());
  if (packet.payload > 0) text += fmt::format(" {} B", packet.payload);
  if (info->extensions.has(wire::Extension::reth)) text += fmt::format(" of {}", packet.length);
  if (info->extensions.has(wire::Extension::aeth)) {
    text += fmt::format(" syndrome 0x{:02x} msn {}", packet.syndrome, packet.msn);
  }
  if (info->extensions.has(wire::Extension::atomicacketh)) {
    text += fmt::format(" original {}", packet.swap_add);
  }
  return text + (packet.ack_req ? " AckReq" : "") + "\n";
}

class Lab : public transport::Application {
 public:
  explicit Lab(LabConfig config) {
    auto& there = simulation.add_link(emulator::Direction::west_to_east,
                                      {.delay = config.delay,
                                       .rules = config.there.rules("there"),
                                       .direction = emulator::Direction::west_to_east,
                                       .seed = config.there.seed});
    auto& back = simulation.add_link(emulator::Direction::east_to_west,
                                     {.delay = config.delay,
                                      .rules = config.back.rules("back"),
                                      .direction = emulator::Direction::east_to_west,
                                      .seed = config.back.seed});
    client = &simulation.add_host(config.nic, memory(config), there);
    server = &simulation.add_host(config.nic, memory(config), back);
    for (std::uint32_t i = 0; i < config.qps; ++i) add_pair(config, i);
    client->run(*this);
    server->run(*this);
  }

  /// Logs each packet that enters a link, and each completion, as a line of text.
  void keep_log() {
    simulation.link(0).on_enter = [this](Instant at, const transport::Packet& packet) {
      log.push_back({at, packet_line(at, "->", packet)});
    };
    simulation.link(1).on_enter = [this](Instant at, const transport::Packet& packet) {
      log.push_back({at, packet_line(at, "<-", packet)});
    };
    logging_ = true;
  }
  [[nodiscard]] std::string text() {
    std::ranges::stable_sort(log, {}, &Entry::at);
    std::string all;
    for (const Entry& entry : log) all += entry.text;
    return all;
  }

  bool post(transport::WorkRequest request, std::uint32_t qp = 0) {
    if (request.r_key == 0) request.r_key = kLabKey;
    return client->post(qp, request, simulation.now());
  }
  bool run(Duration longest = std::chrono::seconds(100)) {
    return simulation.run_to_rest(simulation.now() + longest);
  }

  void on_completion(transport::QpSet& host, std::uint32_t /*qp*/,
                     const transport::Completion& done, Instant now) override {
    if (logging_) {
      const std::string imm =
          done.arrival && done.immediate ? fmt::format(" imm {}", done.word) : "";
      log.push_back({now, fmt::format("{:9.3f} {} {} {}: {}, {} B{}\n",
                                      static_cast<double>(to_ns(now)) / 1000,
                                      &host == client ? "client" : "server",
                                      done.arrival ? "arrival" : "completion", done.id,
                                      name_of(done.status), done.length, imm)});
    }
    (done.arrival ? arrivals : completions).push_back(done);
  }

  sim::Simulation simulation;
  sim::Host* client = nullptr;
  sim::Host* server = nullptr;
  std::vector<transport::Completion> completions, arrivals;

  struct Entry {
    Instant at;
    std::string text;
  };
  std::vector<Entry> log;

 private:
  static transport::Memory memory(const LabConfig& config) {
    return {transport::Memory::Kind::real, kLabVa, config.memory, kLabKey};
  }
  void add_pair(const LabConfig& config, std::uint32_t i) {
    transport::QpConfig qp = config.qp;
    qp.dest_qpn = sim::Host::qpn_of(i);
    qp.dest_host = server->number();
    client->add_qp(qp);
    std::swap(qp.send_psn, qp.receive_psn);
    qp.dest_host = client->number();
    server->add_qp(qp);
  }
  bool logging_ = false;
};

}  // namespace lw::test
