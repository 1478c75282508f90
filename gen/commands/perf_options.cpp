// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_options.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "config/impair/impair_profile.h"
#include "core/quantity.h"
#include "gen/commands/dcqcn_options.h"
#include "gen/commands/options.h"

namespace lw::gen {
namespace {

using wire::Operation;

void add_windows(CLI::App* command, sim::PerfConfig& config) {
  command->add_option("-q,--qps", config.qps, "Queue pairs")
      ->check(CLI::Range(1u, 65536u))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("-t,--tx-depth", config.qp.tx_depth, "Work requests posted at once, a QP")
      ->check(CLI::Range(1u, 1u << 20))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--outstanding", config.qp.max_outstanding_wqe,
                   "Work requests begun and not acknowledged, a QP: the NIC's own window")
      ->check(CLI::Range(1u, 1u << 20))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--reads", config.qp.max_rd_atomic, "READs and atomics among them, a QP")
      ->check(CLI::Range(1u, 1u << 16))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--psn-window", config.qp.psn_window, "PSNs not acknowledged, a QP")
      ->check(CLI::Range(1u, 1u << 23))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--mtu", config.qp.mtu, "The path MTU")
      ->check(CLI::IsMember({256u, 512u, 1024u, 2048u, 4096u}))
      ->type_name("BYTES")
      ->capture_default_str();
}

void add_recovery_options(CLI::App* command, PerfOptions& options) {
  add_quantity(command, "--loss", parse_probability, options.loss,
               "Of packets, both ways, by chance")
      ->type_name("SHARE")
      ->default_str("0");
  add_quantity(command, "--mark", parse_probability, options.mark,
               "Of packets, both ways, that get to be congestion experienced, by chance")
      ->type_name("SHARE")
      ->default_str("0");
  command->add_option("--timeout", options.timeout, "Local ACK timeout: 4.096 us x 2^N; 0: never")
      ->check(CLI::Range(0u, 31u))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--retries", options.retries, "Before a QP gives up")
      ->check(CLI::Range(0u, 7u))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--adaptive", options.config.qp.adaptive_retransmission,
                    "Adaptive retransmission: the timeout follows the measured round trip");
  command->add_flag("--selective-repeat", options.selective, "Instead of go-back-N");
}

/// What a packet takes of it that nothing happens to.
Duration nominal_delay(const config::ImpairProfile& profile, emulator::Direction direction) {
  Duration longest{};
  for (const emulator::RuleConfig& rule : profile.rules)
    if (rule.applies(direction)) longest = std::max(longest, rule.delay.value_or(Duration{}));
  return longest;
}

/// What simulated packets can't do.
Result<void> can_be_simulated(const config::ImpairProfile& profile) {
  if (!profile.scenario.empty())
    return fail("[[at]], [[protection]], [[flap]]: a simulated path stays as it is");
  for (const emulator::RuleConfig& rule : profile.rules)
    if (rule.corrupt && rule.corrupt->recompute_icrc)
      return fail("icrc = \"recomputed\": simulated payloads have no bits to flip unseen");
  return {};
}

/// Of the slowest link there; nothing is slower than the NICs: 0.
double slowest_link(const config::ImpairProfile& profile, const sim::PathRules& rules,
                    double nic_bps) {
  double rate = nic_bps;
  // A wavelength counts where nothing else is said of the path, as it does in roce-impair.
  if (profile.path && rules.plain()) rate = std::min(rate, profile.path->rate_bps);
  for (const emulator::RuleConfig& rule : rules.rules)
    if (rule.queue) rate = std::min(rate, rule.queue->rate_bps);
  return rate < nic_bps ? rate : 0;
}

/// A path profile, or an impair profile with all its rules.
Result<void> take_profile(const std::string& file, sim::PerfConfig& config) {
  const auto profile = config::load_impair_profile(file);
  if (!profile) return std::unexpected(profile.error());
  if (const auto can = can_be_simulated(*profile); !can)
    return fail(file + ": " + can.error().message);
  auto rules = std::make_shared<sim::PathRules>();
  *rules = {.seed = profile->seed, .rules = profile->rules, .events = profile->events};
  config.path.one_way = nominal_delay(*profile, emulator::Direction::west_to_east);
  config.path.way_back = nominal_delay(*profile, emulator::Direction::east_to_west);
  config.path.rate_bps = slowest_link(*profile, *rules, config.nic.rate_bps);
  if (rules->plain()) return {};
  config.path.rules = std::move(rules);
  for (const auto way : {emulator::Direction::west_to_east, emulator::Direction::east_to_west})
    if (config.nic.latency <= Duration{} && config.path.rules->least_delay(way) <= Duration{})
      return fail(file + ": some packets take no time: --nic-latency must be more than 0");
  return {};
}

}  // namespace

void add_perf_options(CLI::App* command, PerfOptions& options) {
  sim::PerfConfig& config = options.config;
  command->add_option("--op", options.operation, "write, send, read or atomic (FETCH ADD)")
      ->check(CLI::IsMember({"write", "send", "read", "atomic"}))
      ->type_name("OP")
      ->capture_default_str();
  command->add_flag("--imm", options.immediate, "With an immediate: WRITE and SEND");
  add_quantity(command, "-s,--size", parse_bytes, config.size, "Of a message")
      ->type_name("SIZE")
      ->default_str("64KiB");
  add_windows(command, config);
  command->add_option("--path", options.path, "A path or impair profile: what lies between")
      ->type_name("PROFILE");
  add_quantity(command, "--delay", parse_duration, options.delay, "One way, instead of a profile")
      ->type_name("TIME");
  add_quantity(command, "--distance", parse_kilometres, options.km,
               "Of bare fibre, instead of a profile")
      ->type_name("LENGTH");
  add_quantity(command, "--rate", parse_bit_rate, config.nic.rate_bps, "Of the NICs' lines")
      ->type_name("RATE")
      ->default_str("100Gb/s");
  add_quantity(command, "--nic-latency", parse_duration, config.nic.latency,
               "Of a host and its NIC, out as well as in")
      ->type_name("TIME")
      ->default_str("500ns");
  add_quantity(command, "--receive-limit", parse_bit_rate, config.nic.receive_send_bps,
               "SEND payload that a host can put away")
      ->type_name("RATE")
      ->default_str("the line's");
}

void add_run_options(CLI::App* command, PerfOptions& options) {
  command
      ->add_option("--pattern", options.pattern,
                   "bw: one way; lat: ping-pong, or a READ; ping, blast: the same as the RDMA "
                   "programming study counts them")
      ->check(CLI::IsMember({"bw", "lat", "ping", "blast"}))
      ->type_name("PATTERN")
      ->capture_default_str();
  command->add_option("--buffers", options.buffers, "Of a blast: messages on their way at once")
      ->check(CLI::Range(1u, 1u << 20))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("-n,--iterations", options.config.iterations,
                   "Messages a QP; 0: lat 1000; bw 5000, simulated as many as a steady rate needs")
      ->type_name("N")
      ->capture_default_str();
  add_quantity(command, "--duration", parse_duration, options.config.duration,
               "bw: for so long, in place of -n")
      ->type_name("TIME");
  command->add_option("--seed", options.config.path.mishaps.seed, "Of chance")
      ->type_name("N")
      ->capture_default_str();
  add_recovery_options(command, options);
  add_congestion_options(command, options.config.qp);
}

bool by_chance(const sim::PerfConfig& config) noexcept {
  return config.path.mishaps.loss > 0 || config.path.mishaps.marking > 0 ||
         (config.path.rules && config.path.rules->by_chance());
}

namespace {

/// The study's patterns: which operations they have, and what a buffer is.
Result<void> apply_pattern(const PerfOptions& options, sim::PerfConfig& config) {
  constexpr std::uint64_t kIterations = 1000;  // perftest's, of a latency
  if (options.pattern == "bw") return {};
  if (config.iterations == 0) config.iterations = kIterations;
  const bool write = config.operation == Operation::write;
  if (options.pattern == "ping" && !write && config.operation != Operation::send)
    return fail("--pattern ping goes with --op send and write");
  config.read_back = options.pattern == "ping" && write && !config.immediate;
  if (options.pattern != "blast") return {};
  if (config.operation == Operation::fetch_add) {
    return fail("--pattern blast goes with --op send, write and read");
  }
  config.qp.tx_depth = options.buffers;
  config.qp.max_outstanding_wqe = std::max(config.qp.max_outstanding_wqe, options.buffers);
  return {};
}

}  // namespace

Result<sim::PerfConfig> perf_config(const PerfOptions& options, bool simulated) {
  sim::PerfConfig config = options.config;
  config.immediate = options.immediate;
  config.path.mishaps.loss = options.loss.value_or(0);
  config.path.mishaps.marking = options.mark.value_or(0);
  config.qp.timeout = static_cast<std::uint8_t>(options.timeout);
  config.qp.retry_count = static_cast<std::uint8_t>(options.retries);
  if (options.selective) config.qp.recovery = transport::Recovery::selective_repeat;
  config.operation = options.operation == "send"     ? Operation::send
                     : options.operation == "read"   ? Operation::read_request
                     : options.operation == "atomic" ? Operation::fetch_add
                                                     : Operation::write;
  if (config.operation == Operation::fetch_add) config.size = 8;
  const bool carries = config.operation == Operation::send || config.operation == Operation::write;
  if (config.immediate && !carries) return fail("--imm goes with --op write and send only");
  if (config.size > 1u << 30) return fail("--size: expected at most 1 GiB");
  if (config.size == 0) return fail("--size: expected at least 1 B");
  if (auto applied = apply_pattern(options, config); !applied) {
    return std::unexpected(applied.error());
  }
  if (!simulated) return config;
  const int given = (options.delay ? 1 : 0) + (options.km ? 1 : 0) + (options.path.empty() ? 0 : 1);
  if (given > 1) return fail("--path, --delay and --distance exclude each other");
  if (given == 0) return fail("say what lies between: --path, --delay or --distance");
  if (options.path.empty()) {
    const emulator::Path fibre{.spans = {{.km = options.km.value_or(0)}}};
    config.path.one_way =
        options.delay.value_or(one_way_delay(fibre, emulator::Direction::west_to_east));
    return config;
  }
  if (const auto taken = take_profile(options.path, config); !taken)
    return std::unexpected(taken.error());
  return config;
}

}  // namespace lw::gen
