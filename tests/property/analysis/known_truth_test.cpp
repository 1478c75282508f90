// SPDX-License-Identifier: BSD-3-Clause
// Simulated connections with faults, captured at both ends. What the analysis finds is compared
// with what was done: the simulation knows for each arrival which transmission of its PSN it is.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "analysis/analyst.h"
#include "sim/perf.h"

namespace lw::analysis {
namespace {

using transport::Packet;

constexpr std::uint32_t kClient = 0, kServer = 1;  // capture points

/// A frame as one end sees it.
struct Capture {
  Instant at;
  std::uint32_t point = 0;
  std::vector<std::byte> bytes;
  std::uint16_t number = 0;  // identification of the IP packet
};

/// What happened to the requests, or to the READ responses, as far as a point can see it.
struct Truth {
  std::uint64_t resent = 0, duplicates = 0, late = 0, lost = 0;
  friend bool operator==(const Truth&, const Truth&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Truth& t) {
    return out << "resent " << t.resent << ", duplicates " << t.duplicates << ", late " << t.late
               << ", lost " << t.lost;
  }
};

/// A scenario: a run and the faults on its path.
struct Scenario {
  perf::PerfConfig config;
  Duration one_way{};
  std::vector<Duration> late;  // delays of single packets
  bool numbered = false;       // the sender of requests counts up its IP identifications
  std::string text;
};

/// Which transmission of its PSN a packet is. Nothing but the time tells copies of a packet apart:
/// each transmission leaves at its own time, and the path's delays are known.
class Transmissions {
 public:
  /// Adds a transmission. Returns how many there were before, of all packets.
  std::uint16_t left(Instant at, const Packet& packet) {
    by_psn_[key_of(packet)].push_back(at);
    numbers_[key_of(packet)].push_back(count_);
    return count_++;
  }
  /// What left() returned for the `which`-th transmission, from 1.
  std::uint16_t number_of(const Packet& packet, std::size_t which) const {
    return numbers_.at(key_of(packet)).at(which - 1);
  }
  /// From 1; 0: none fits.
  std::size_t of(Instant at, const Packet& packet, const Scenario& scenario) const {
    const auto all = by_psn_.find(key_of(packet));
    if (all == by_psn_.end()) return 0;
    const auto sent_at = [&](Instant left) -> std::size_t {
      const auto which = std::ranges::find(all->second, left);
      return which == all->second.end() ? 0
                                        : static_cast<std::size_t>(which - all->second.begin()) + 1;
    };
    if (const std::size_t in_time = sent_at(at - scenario.one_way)) return in_time;
    for (const Duration late : scenario.late)
      if (const std::size_t which = sent_at(at - scenario.one_way - late)) return which;
    return 0;
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  static Key key_of(const Packet& packet) { return {packet.dest_qp, packet.psn.value()}; }
  std::map<Key, std::vector<Instant>> by_psn_;
  std::map<Key, std::vector<std::uint16_t>> numbers_;
  std::uint16_t count_ = 60'000;  // goes round soon
};

/// The requests to one QP at one point, by definition.
class RequestTruth {
 public:
  /// An arrival of PSN `psn` without wrap-around that takes `span` PSNs, the `transmission`-th.
  /// `ends`: it is the last packet of its message.
  /// `numbered`: a packet that its own retransmission overtook is seen to be late.
  void take(std::uint64_t psn, std::uint64_t span, std::size_t transmission, bool ends,
            bool numbered) {
    messages += ends && !seen_.contains(psn);
    const bool again = !arrived_.insert({psn, transmission}).second;
    const bool known = seen_.contains(psn);
    const bool of_rest = known && !first_.contains(psn);  // the rest of a READ's response
    const bool resent = transmission > 1 || of_rest;
    if (again) {
      ++truth.duplicates;
    } else if (psn < next_) {
      if (resent) ++truth.resent;
      if (resent && !known) truth.lost += span;
      if (!resent && known && numbered) {
        truth.lost -= span;
        truth.late += span;
      } else if (!resent) {
        (known ? truth.duplicates : truth.late) += known ? 1 : span;
      }
    }
    first_.insert(psn);
    for (std::uint64_t i = 0; i < span; ++i) seen_.insert(psn + i);
    next_ = std::max(next_, psn + span);
  }
  /// PSNs between the first and the last one seen that never came.
  [[nodiscard]] std::uint64_t missing() const {
    return seen_.empty() ? 0 : *seen_.rbegin() + 1 - *seen_.begin() - seen_.size();
  }
  Truth truth;
  std::uint64_t messages = 0;  // whose end was seen

 private:
  std::set<std::pair<std::uint64_t, std::size_t>> arrived_;
  std::set<std::uint64_t> first_, seen_;  // PSNs of requests, and all that they take
  std::uint64_t next_ = 0;
};

class Counting final : public Results {
 public:
  void found(const Anomaly& anomaly) override { anomalies.push_back(anomaly); }
  void completed(const Message& message) override {
    messages += !message.partial;
    without_completion += !message.completion.has_value();
  }
  std::vector<Anomaly> anomalies;
  std::uint64_t messages = 0, without_completion = 0;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<std::uint32_t>(values.size())));
  }

 private:
  std::mt19937_64 random_;
};

void add_delays(perf::PathRules& rules, Duration one_way) {
  for (const bool there : {true, false}) {
    emulator::RuleConfig rule;
    rule.name = there ? "there" : "back";
    rule.west_to_east = there;
    rule.east_to_west = !there;
    rule.delay = one_way;
    rules.rules.push_back(rule);
  }
}

void add_fault(Generator& random, Scenario& scenario, perf::PathRules& rules, int number) {
  using emulator::EventAction;
  using emulator::PacketKind;
  emulator::EventConfig event;
  event.name = fmt::format("fault {}", number);
  const bool reads = scenario.config.operation == wire::Operation::read_request;
  const bool atomic = scenario.config.operation == wire::Operation::fetch_add;
  const auto back =
      reads ? PacketKind::read_response : (atomic ? PacketKind::atomic_ack : PacketKind::ack);
  const bool there = random.below(3) != 0;
  event.ways = there ? emulator::Ways::west_to_east : emulator::Ways::east_to_west;
  event.on = there ? PacketKind::request : back;
  event.qp = 1 + random.below(scenario.config.qps);
  if (there && random.below(4) != 0) {
    event.psn_from = emulator::PsnFrom::start;
    event.psn = random.below(200);
    event.occurrence = random.one_of<std::uint64_t>({1, 1, 1, 2});
  } else {
    event.occurrence = 1 + random.below(there ? 200 : 40);
  }
  event.action = random.one_of({EventAction::drop, EventAction::drop, EventAction::drop,
                                EventAction::duplicate, EventAction::delay, EventAction::corrupt});
  // Where single packets are repeated, a late one cannot be told from its retransmission.
  const bool single = scenario.config.qp.recovery == transport::LossRecovery::selective_repeat;
  const bool numbered = scenario.numbered;
  if (single && !numbered && event.action == EventAction::delay) event.action = EventAction::drop;
  // Nor what a late retransmission does to the recovery that it belongs to.
  if (there && !numbered && event.action == EventAction::delay) {
    if (event.psn_from == emulator::PsnFrom::any) event.psn = random.below(200);
    event.psn_from = emulator::PsnFrom::start;
    event.occurrence = 1;
  }
  if (event.action == EventAction::delay) {
    event.delay = std::chrono::microseconds{1 + random.below(30)};
    scenario.late.push_back(event.delay);
  }
  scenario.text += fmt::format("; {} {} qp {} psn {} occurrence {}", name_of(event.action),
                               name_of(event.on), *event.qp, event.psn, event.occurrence);
  rules.events.push_back(event);
}

/// `numbered`: SENDs and WRITEs of a sender that counts up its IP identifications.
Scenario scenario_of(std::uint64_t seed, bool numbered) {
  using wire::Operation;
  Generator random(seed);
  Scenario scenario;
  scenario.numbered = numbered;
  perf::PerfConfig& config = scenario.config;
  config.operation = random.one_of({Operation::send, Operation::write, Operation::write,
                                    Operation::read_request, Operation::fetch_add});
  if (numbered) config.operation = random.one_of({Operation::send, Operation::write});
  config.qp.mtu = random.one_of({1024u, 4096u});
  config.size = config.operation == Operation::fetch_add
                    ? 8
                    : random.one_of({64u, 4096u, 5000u, 20000u, 65536u});
  config.qps = 1 + random.below(3);
  config.iterations = 20 + random.below(100);
  config.qp.tx_depth = config.qp.max_outstanding_wqe = random.one_of({1u, 4u, 32u, 128u});
  config.qp.send_psn = config.qp.receive_psn =
      wire::Psn{random.one_of({0u, 0xffffc0u, random.below(0x1000000)})};
  config.qp.ack_every = random.one_of({0u, 1u, 8u, 64u});
  config.qp.timeout = 12;  // 16.8 ms
  config.nic.latency = {};
  scenario.one_way = std::chrono::microseconds{random.one_of({5, 100, 1900})};
  config.path.one_way = scenario.one_way;
  const bool copies = config.operation == Operation::send || config.operation == Operation::write;
  if (copies && random.below(6) == 0)
    config.qp.recovery = transport::LossRecovery::selective_repeat;
  const bool single = config.qp.recovery == transport::LossRecovery::selective_repeat;
  if (config.operation == Operation::send && !single && random.below(3) == 0) {
    config.receives = 8;
    config.repost = std::chrono::microseconds{50};
  }
  auto rules = std::make_shared<perf::PathRules>();
  add_delays(*rules, scenario.one_way);
  scenario.text = fmt::format("{} of {} bytes, MTU {}, {} QPs, depth {}, ack every {}, {} ns, {}{}",
                              wire::name_of(config.operation), config.size, config.qp.mtu,
                              config.qps, config.qp.tx_depth, config.qp.ack_every,
                              scenario.one_way.count(), single ? "selective repeat" : "go-back-N",
                              config.receives > 0 ? ", few receives" : "");
  const int faults = static_cast<int>(random.below(5));
  for (int i = 0; i < faults; ++i) add_fault(random, scenario, *rules, i);
  config.path.rules = rules;
  return scenario;
}

/// Runs a scenario and keeps what both ends see.
class Run {
 public:
  explicit Run(const Scenario& scenario) : scenario_(scenario) {
    result = sim::run_bandwidth(scenario.config, [this](sim::Simulation& simulation) {
      simulation.link(0).on_enter = [this](Instant at, const Packet& p) {
        keep(at, kClient, p, requests_.left(at, p));
        take(kClient, at, p);
      };
      simulation.link(0).on_leave = [this](Instant at, const Packet& p) {
        const std::size_t which = requests_.of(at, p, scenario_);
        keep(at, kServer, p, which > 0 ? requests_.number_of(p, which) : 0);
        take(kServer, at, p);
      };
      simulation.link(1).on_enter = [this](Instant at, const Packet& p) { keep(at, kServer, p); };
      simulation.link(1).on_leave = [this](Instant at, const Packet& p) { keep(at, kClient, p); };
    });
    std::ranges::stable_sort(captures, {}, &Capture::at);
  }

  /// `forever`: what is lost is not sent again.
  Truth truth_at(std::uint32_t point, bool forever = false) const {
    Truth sum;
    for (const auto& [key, one] : truths_) {
      if (key.first != point) continue;
      if (forever) sum.lost += one.missing();
      sum.resent += one.truth.resent;
      sum.duplicates += one.truth.duplicates;
      sum.late += one.truth.late;
      sum.lost += one.truth.lost;
    }
    return sum;
  }

  std::uint64_t messages() const {
    std::uint64_t sum = 0;
    for (const auto& [key, one] : truths_) sum += one.messages;
    return sum;
  }

  perf::BandwidthResult result;
  std::vector<Capture> captures;

 private:
  void keep(Instant at, std::uint32_t point, const Packet& packet, std::uint16_t number = 0) {
    std::vector<std::byte> frame = transport::to_frame(packet);
    if (packet.icrc_wrong) frame.back() ^= std::byte{0xff};
    captures.push_back(
        {at, point, std::move(frame), scenario_.numbered ? number : std::uint16_t{}});
  }
  void take(std::uint32_t point, Instant at, const Packet& packet) {
    if (packet.icrc_wrong) return;  // the receiver drops it
    const std::size_t transmission = point == kClient
                                         ? ++sent_[{packet.dest_qp, packet.psn.value()}]
                                         : requests_.of(at, packet, scenario_);
    ASSERT_NE(transmission, 0u);
    const auto first = scenario_.config.qp.send_psn;
    const auto ahead = (packet.psn.value() - first.value()) & wire::Psn::kMask;
    const bool reads =
        transport::meaning_of(packet.opcode).operation == wire::Operation::read_request;
    const std::uint32_t span =
        reads ? transport::packets_of(packet.length, scenario_.config.qp.mtu) : 1;
    const bool ends = transport::ends_message(transport::meaning_of(packet.opcode).position);
    truths_[{point, packet.dest_qp}].take(ahead, span, transmission, ends, scenario_.numbered);
  }

  const Scenario& scenario_;
  Transmissions requests_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> sent_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, RequestTruth> truths_;
};

void analyse(const Run& run, Analyst& analyst) {
  std::uint64_t number = 0;
  for (Capture capture : run.captures) {
    const auto icrc = roce::check_icrc(roce::parse(capture.bytes)->envelope);
    constexpr std::size_t kIdentification = 14 + 4;
    capture.bytes[kIdentification] = std::byte(capture.number >> 8);
    capture.bytes[kIdentification + 1] = std::byte(capture.number & 0xff);
    const auto frame = roce::parse(capture.bytes);
    ASSERT_TRUE(frame);
    analyst.add({.number = ++number,
                 .stamp = capture.at,
                 .point = capture.point,
                 .frame = *frame,
                 .icrc = icrc});
  }
  analyst.finish();
}

Truth found_at(const Analyst& analyst, std::uint32_t point) {
  Truth found;
  for (const Session& session : analyst.sessions()) {
    const auto& stream = session.directions[0].stream;
    if (!stream || analyst.flows()[session.directions[0].flow].key.point != point) continue;
    const StreamCounts& counts = stream->counts();
    found.resent += counts.resent;
    found.duplicates += counts.duplicates;
    found.late += counts.out_of_order;
    found.lost += counts.lost;
  }
  return found;
}

std::string list(const std::vector<Anomaly>& anomalies) {
  std::string text;
  for (const Anomaly& a : anomalies)
    text +=
        fmt::format("  frame {} session {} {} psn {} x {} at {} ns: {} {} ({}) {}\n", a.frame,
                    a.session, name_of(a.kind), a.psn, a.packets, to_ns(a.stamp),
                    name_of(a.certainty), name_of(a.cause), a.related_frame, wire::name_of(a.role));
  return text;
}

std::uint32_t point_of(const Analyst& analyst, const Anomaly& anomaly) {
  const Session& session = analyst.sessions()[anomaly.session - 1];
  return analyst.flows()[session.directions[0].flow].key.point;
}

/// A run and what the analysis finds in its captures.
struct Judged {
  explicit Judged(const Scenario& scenario) : run(scenario), analyst(counting) {
    analyse(run, analyst);
  }
  Run run;
  Counting counting;
  Analyst analyst;
};

void check(std::uint64_t seed, bool numbered) {
  const Scenario scenario = scenario_of(seed, numbered);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, scenario.text));
  const Judged judged(scenario);
  const auto& [run, counting, analyst] = judged;
  const std::string anomalies = list(counting.anomalies);
  EXPECT_EQ(analyst.sessions().size(), 2 * scenario.config.qps);
  for (const Session& session : analyst.sessions())
    EXPECT_NE(session.directions[1].flow, QpFlow::kNone) << "session " << session.number;
  EXPECT_EQ(found_at(analyst, kClient), run.truth_at(kClient)) << "client\n" << anomalies;
  EXPECT_EQ(found_at(analyst, kServer), run.truth_at(kServer)) << "server\n" << anomalies;
  EXPECT_EQ(counting.messages, run.messages()) << anomalies;
  EXPECT_EQ(found_at(analyst, kClient).resent, run.result.retransmitted) << anomalies;
  const auto by_timer = [&](const Anomaly& a) {
    return a.kind == AnomalyKind::retransmission && a.cause == Cause::timeout &&
           point_of(analyst, a) == kClient;
  };
  EXPECT_EQ(std::ranges::count_if(counting.anomalies, by_timer), run.result.timeouts) << anomalies;
}

/// WRITEs or SENDs of UC, or datagrams of UD, with requests that are lost, damaged, copied or late.
Scenario unreliable_scenario_of(std::uint64_t seed) {
  using wire::Operation;
  Generator random(seed);
  Scenario scenario;
  perf::PerfConfig& config = scenario.config;
  config.qp.transport = random.one_of({wire::Transport::uc, wire::Transport::ud});
  const bool datagrams = config.qp.transport == wire::Transport::ud;
  config.operation =
      datagrams ? Operation::send : random.one_of({Operation::send, Operation::write});
  config.qp.mtu = random.one_of({1024u, 4096u});
  config.size = datagrams ? 1000 : random.one_of({64u, 4096u, 20000u});
  config.qps = datagrams ? 1 : 1 + random.below(3);  // all datagrams go to one QP
  config.iterations = 1000 + random.below(1000);     // those under way at the end don't arrive
  config.qp.tx_depth = random.one_of({4u, 32u, 128u});
  config.qp.send_psn = config.qp.receive_psn =
      wire::Psn{random.one_of({0u, 0xffffc0u, random.below(0x1000000)})};
  config.nic.latency = {};
  scenario.one_way = config.path.one_way = std::chrono::microseconds{1};
  auto rules = std::make_shared<perf::PathRules>();
  add_delays(*rules, scenario.one_way);
  scenario.text =
      fmt::format("{} {} of {} bytes, MTU {}, {} QPs, depth {}, PSN {}", datagrams ? "UD" : "UC",
                  wire::name_of(config.operation), config.size, config.qp.mtu, config.qps,
                  config.qp.tx_depth, config.qp.send_psn.value());
  for (std::uint32_t number = 1 + random.below(5); number > 0; --number) {
    using emulator::EventAction;
    emulator::EventConfig event;
    event.name = fmt::format("fault {}", number);
    event.ways = emulator::Ways::west_to_east;
    event.on = emulator::PacketKind::request;
    event.qp = 1 + random.below(config.qps);
    event.psn_from = emulator::PsnFrom::start;
    event.psn = random.below(100);
    event.action = random.one_of({EventAction::drop, EventAction::drop, EventAction::duplicate,
                                  EventAction::delay, EventAction::corrupt});
    // Fewer than 1,024 packets: a later one counts as lost as well.
    if (event.action == EventAction::delay) {
      event.delay = std::chrono::nanoseconds{100 + random.below(900)};
      scenario.late.push_back(event.delay);
    }
    scenario.text += fmt::format("; {} qp {} psn {}", name_of(event.action), *event.qp, event.psn);
    rules->events.push_back(event);
  }
  config.path.rules = rules;
  return scenario;
}

/// Adds what was found at the server to `found`.
void check_unreliable(std::uint64_t seed, Truth& found) {
  const Scenario scenario = unreliable_scenario_of(seed);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, scenario.text));
  const Judged judged(scenario);
  const auto& [run, counting, analyst] = judged;
  const std::string anomalies = list(counting.anomalies);
  EXPECT_EQ(analyst.sessions().size(), 2 * scenario.config.qps);
  EXPECT_EQ(found_at(analyst, kClient), run.truth_at(kClient, true)) << "client\n" << anomalies;
  const Truth at_server = found_at(analyst, kServer);
  EXPECT_EQ(at_server, run.truth_at(kServer, true)) << "server\n" << anomalies;
  found.duplicates += at_server.duplicates;
  found.late += at_server.late;
  found.lost += at_server.lost;
}

TEST(KnownTruth, HundredUnreliableScenarios) {
  Truth found;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    check_unreliable(seed, found);
    if (HasFailure()) return;
  }
  EXPECT_GT(std::min({found.duplicates, found.late, found.lost}), 20U) << found;
}

/// Checks 500 seeds, or that of the environment; one failure is enough to read.
void check_all(bool numbered) {
  const char* only = std::getenv("LONGWIRE_SEED");
  if (only != nullptr) return check(std::stoull(only), numbered);
  for (std::uint64_t seed = 1; seed <= 500 && !testing::Test::HasFailure(); ++seed)
    check(seed, numbered);
}

TEST(KnownTruth, FiveHundredScenarios) { check_all(false); }

TEST(KnownTruth, FiveHundredScenariosOfASenderThatNumbersItsPackets) { check_all(true); }

/// Scenarios beyond the first 500 that were judged wrong once: a repeated READ of a sender that
/// waits for each response; two timers in a row; a NAK sent before a retransmission arrived; a
/// packet that its retransmission overtook, beside a NAK of a later one; a late packet that comes
/// within a recovery, further on; a NAK whose packet is acknowledged before the sender answers.
TEST(KnownTruth, FormerFaults) {
  for (const std::uint64_t seed :
       {1074, 4556, 8009, 10261, 1171, 4949, 9698, 4939, 6502, 7358, 10376, 9512})
    check(seed, false);
  for (const std::uint64_t seed : {611, 868, 3904, 2611, 5533, 7803}) check(seed, true);
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

/// Checks LONGWIRE_SCENARIOS seeds from LONGWIRE_SEED on: 50 from 0, or what ./dev long asks for.
/// Of 10,500 seeds of each kind, 8 and 14 disagree: what the manual lists as "cannot tell", and
/// recoveries that overlap.
TEST(KnownTruth, MostOfManyScenarios) {
  const std::uint64_t first = number_of("LONGWIRE_SEED", 0);
  const std::uint64_t count = number_of("LONGWIRE_SCENARIOS", 50);
  std::vector<std::string> wrong;
  for (const bool numbered : {false, true}) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      testing::TestPartResultArray failures;
      {
        const testing::ScopedFakeTestPartResultReporter held(&failures);
        check(seed, numbered);
      }
      if (failures.size() > 0)
        wrong.push_back(fmt::format("{}{}", numbered ? "numbered " : "", seed));
    }
  }
  EXPECT_LE(wrong.size(), 2 * count / 200) << fmt::format("seeds {}", fmt::join(wrong, ", "));
}

}  // namespace
}  // namespace lw::analysis
