// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/quantity.h"
#include "transport/fifo.h"
#include "transport/packet.h"
#include "transport/response_queue.h"

namespace lw::gen {
namespace {

using wire::Operation;

bool fetches(const sim::PerfConfig& config) noexcept {
  return config.operation != Operation::send && config.operation != Operation::write;
}

bool limits_sends(const sim::PerfConfig& config) noexcept {
  return config.operation == Operation::send && config.nic.receive_send_bps > 0;
}

bool is_selective(const sim::PerfConfig& config) noexcept {
  return config.qp.recovery == transport::Recovery::selective_repeat && !fetches(config);
}

/// The inputs of the formulas: times in ns, windows of one QP.
struct Quantities {
  double round_trip = 0;    // from a packet's last byte until its answer has arrived
  double line_message = 0;  // on the link, or in the NIC if that is longer
  double message = 0;       // in the receiver if that is longer still
  double packet = 0;        // mean time of a packet there
  double rest = 0;          // time that the NIC still takes when a message has left
  double packets = 1;       // of a message
  double qps = 1;
  double depth = 1;      // messages outstanding
  double psns = 0;       // packets outstanding, SEND and WRITE; 0: more than depth x packets
  double read_psns = 0;  // packets outstanding, READ; also included in `depth`
  Limit limit{};         // the smallest window
  double window() const noexcept { return psns > 0 ? psns : depth * packets; }
};

/// Returns the bytes on the link of a packet in the direction without payload: an ACK or a request.
double answer_bytes(const sim::PerfConfig& config) noexcept {
  transport::Packet packet;
  const transport::OpcodeSet opcodes(wire::Transport::rc);
  packet.opcode =
      opcodes.of(fetches(config) ? config.operation : Operation::ack, wire::Position::only);
  return transport::wire_bytes(packet);
}

/// Reduces the windows to the smallest one.
void tighten(Quantities& given, const sim::PerfConfig& config) noexcept {
  const auto narrow = [&](double messages, Limit limit) {
    if (messages >= given.depth) return;
    given.depth = messages;
    given.limit = limit;
  };
  given.depth = config.qp.tx_depth;
  given.limit = Limit::tx_depth;
  narrow(config.qp.max_outstanding_wqe, Limit::outstanding_wqes);
  if (fetches(config)) narrow(config.qp.max_rd_atomic, Limit::reads);
  const bool bitmap = config.qp.recovery == transport::Recovery::selective_repeat;
  const double psns =
      bitmap ? std::min(config.qp.psn_window, config.qp.reorder_packets) : config.qp.psn_window;
  // a READ is posted only if it fits into the window as a whole, or is alone
  if (fetches(config)) {
    if (psns < given.depth * given.packets) given.read_psns = psns;
    narrow(std::max(1.0, std::floor(psns / given.packets)), Limit::psn_window);
  } else if (psns < given.depth * given.packets) {
    given.psns = psns;
    given.limit = Limit::psn_window;
  }
}

/// Returns the time in ns that the sender's NIC takes for the last packet of a message beyond that
/// packet's time on the link: the answer doesn't wait for it.
double nic_rest(const sim::PerfConfig& config) noexcept {
  sim::PerfConfig free = config;
  free.nic.per_packet = free.nic.per_message = Duration{};
  const std::uint32_t packets = transport::packets_of(config.size, config.qp.mtu);
  const bool one = packets == 1 || (fetches(config) && config.operation != Operation::read_request);
  if (!one) free.size = config.size - (packets - 1) * config.qp.mtu;
  const double on_link = sim::link_ns_of_message(free);
  const Duration nic = config.nic.per_packet + (one ? config.nic.per_message : Duration{});
  return std::max(0.0, static_cast<double>(nic.count()) - on_link);
}

Quantities quantities_of(const sim::PerfConfig& config) noexcept {
  Quantities given;
  const double answer_ns = answer_bytes(config) * 8e9 / config.nic.rate_bps;
  given.round_trip = static_cast<double>(round_trip_of(config).count()) + answer_ns;
  given.line_message = sim::link_ns_of_message(config);
  if (fetches(config)) given.line_message = std::max(given.line_message, answer_ns);
  given.message = given.line_message;
  if (limits_sends(config))
    given.message = std::max(given.message, 8e9 * config.size / config.nic.receive_send_bps);
  const bool one = fetches(config) && config.operation != Operation::read_request;
  given.packets = one ? 1 : transport::packets_of(config.size, config.qp.mtu);
  given.packet = given.message / given.packets;
  given.rest = nic_rest(config);
  given.round_trip -= given.rest;
  given.qps = config.qps;
  tighten(given, config);
  return given;
}

/// Packets per ns of all QPs without losses, computed by a recurrence. The port sends the QPs'
/// bursts one after the other. With a window of W packets, packet n leaves when packet n - W has
/// been answered; an answer arrives one round trip after the next packet that requests one.
class Recurrence {
 public:
  Recurrence(const Quantities& given, const sim::PerfConfig& config)
      : given_(given),
        packets_(static_cast<std::uint64_t>(given.packets)),
        whole_(given.read_psns > 0),
        depth_(static_cast<std::uint64_t>(given.depth) + (whole_ ? 1 : 0)),
        window_(static_cast<std::uint64_t>(whole_           ? given.read_psns
                                           : given.psns > 0 ? given.psns
                                                            : given.packets * given.depth)),
        ack_every_(whole_            ? 1
                   : fetches(config) ? 0
                                     : config.qp.ack_every),
        burst_(config.nic.arbitration_burst),
        qps_(config.qps) {}

  [[nodiscard]] double packets_per_ns() {
    for (std::uint32_t qp = 0; qp < qps_.size(); ++qp) queue(qp);
    // Measure the second half of a sufficient number of windows. Larger windows fill any link.
    const std::uint64_t all = 2 * kWindows * std::max(window_, packets_) * qps_.size();
    double begin = 0;
    std::uint64_t before = 0;
    for (std::uint64_t steps = 0; sent_ < all && steps < kMostSteps; ++steps) {
      if (before == 0 && (2 * sent_ >= all || 2 * steps >= kMostSteps)) {
        before = sent_;
        begin = now_;
      }
      step();
    }
    return static_cast<double>(sent_ - before) / (now_ - begin);
  }

 private:
  static constexpr std::uint64_t kWindows = 30, kMostSteps = 400'000;
  static constexpr double kTie = 0.5;  // ns: on a tie, the answer comes first
  struct Qp {
    std::uint64_t next = 0, answered = 0;  // packets
    bool queued = false;                   // queued for the port, or using it
  };
  struct Answer {
    double at = 0;
    std::uint32_t qp = 0;
    std::uint64_t packets = 0;
  };

  [[nodiscard]] std::uint64_t allowed(const Qp& qp) const noexcept {
    if (whole_) {  // each response advances the window, but a READ begins only if all of it fits
      const std::uint64_t rest = packets_ - qp.next % packets_;
      const bool fits = qp.next + packets_ <= qp.answered + window_ || qp.next == qp.answered;
      return rest < packets_ || fits ? rest : 0;
    }
    const std::uint64_t whole = qp.answered / packets_ * packets_;
    return std::min(qp.answered + window_, whole + depth_ * packets_) - qp.next;
  }
  void queue(std::uint32_t number) {
    Qp& qp = qps_[number];
    if (qp.queued || allowed(qp) == 0) return;
    qp.queued = true;
    ready_.push(number);
  }
  void take_answers() {
    for (; !answers_.empty() && answers_.front().at <= now_ + kTie; answers_.pop()) {
      const Answer& answer = answers_.front();
      qps_[answer.qp].answered = answer.packets;
      queue(answer.qp);
    }
  }
  /// Sends packets of the QP that uses the port, up to the next packet that requests an answer.
  void step() {
    take_answers();
    if (left_ == 0) {
      if (ready_.empty()) {
        now_ = std::max(now_, answers_.front().at);
        return;
      }
      keeper_ = ready_.front();
      ready_.pop();
      left_ = burst_;
    }
    send(qps_[keeper_]);
  }
  void send(Qp& qp) {
    const std::uint64_t at = qp.next % packets_, rest = packets_ - at;
    std::uint64_t count = std::min({left_, rest, allowed(qp)});
    if (ack_every_ > 0) count = std::min<std::uint64_t>(count, ack_every_ - at % ack_every_);
    qp.next += count;
    sent_ += count;
    left_ -= count;
    // The last packet is built when it begins to leave. It requests an answer if it fills the
    // window.
    now_ += static_cast<double>(count - 1) * given_.packet;
    take_answers();
    now_ += given_.packet;
    const bool ends = count == rest;
    const bool asks = ack_every_ > 0 && (at + count) % ack_every_ == 0;
    if (ends || asks || qp.next - qp.answered >= window_)
      answers_.push({now_ + given_.round_trip, keeper_, qp.next});
    take_answers();
    if (ends || left_ == 0 || allowed(qp) == 0) {
      left_ = 0;
      qp.queued = false;
      queue(keeper_);
    }
  }

  Quantities given_;
  std::uint64_t packets_;
  bool whole_;
  std::uint64_t depth_, window_, ack_every_, burst_;
  std::vector<Qp> qps_;
  transport::Fifo<Answer> answers_;
  transport::Fifo<std::uint32_t> ready_;
  std::uint32_t keeper_ = 0;
  std::uint64_t left_ = 0, sent_ = 0;
  double now_ = 0;
};

/// Returns packets per ns of all QPs without losses.
double lossless_rate(const Quantities& given, const sim::PerfConfig& config) {
  const double line = 1 / given.packet;
  const double cycle = given.round_trip + given.message;
  const double by_window = given.qps * given.window() / cycle;
  // Use the closed formula if the windows far exceed the link, or for very many small messages,
  // which don't interleave.
  constexpr double kMostMessages = 50'000;
  const bool simple = given.psns == 0 && given.qps * given.depth > kMostMessages;
  const double far = given.psns == 0 && given.depth >= 4 ? 4 : 100;
  if (by_window > far * line || simple) return std::min(line, by_window);
  return std::min(line, Recurrence(given, config).packets_per_ns());
}

/// How losses are detected and repaired. `p` is the probability of a packet's loss, in either
/// direction.
struct Losses {
  double p = 0;
  double recoveries = 0;  // mean number per packet: its own loss, or that of its request
  double waits = 0;       // mean number of waits for the timer per packet
  double timer = 0;       // ns
  double timeout = 0;     // mean wait for the timer per packet, in ns
};

/// Probability that a recovery must wait for the timer.
double timer_share(const Quantities& given, const sim::PerfConfig& config, double p) noexcept {
  // Go-back-N: one NAK and one retransmission per gap. IRN repeats its NAKs, so that a lost request
  // of a READ waits only if it is lost again, and a lost response if either is.
  const bool fetched =
      fetches(config) && config.qp.recovery == transport::Recovery::selective_repeat;
  double share = fetched                ? p * (2 + 1 / given.packets) / (1 + 1 / given.packets)
                 : is_selective(config) ? p
                                        : 1 - (1 - p) * (1 - p);
  if (given.window() < 2 * given.packets || given.depth < 2) {
    // No packet follows the last one of the window (READ: the request, and the last response).
    share +=
        fetches(config) ? 2 / (given.packets + 1) : 1 / std::min(given.packets, given.window());
  } else {
    share += std::pow(p, std::max(1.0, given.window() - given.packets));
  }
  return std::min(1.0, share);
}

Losses losses_of(const Quantities& given, const sim::PerfConfig& config, double p) noexcept {
  Losses losses{.p = p, .recoveries = fetches(config) ? p + p / given.packets : p};
  double timer = static_cast<double>(transport::transport_timeout(config.qp.timeout).count());
  if (config.qp.adaptive_retransmission) {
    constexpr double kLeast = 1.5;  // see RetryTimer
    timer = std::min(timer, kLeast * (given.round_trip + given.message));
  }
  if (config.qp.timeout == 0) timer = std::numeric_limits<double>::infinity();
  // All answers of a window may also be lost.
  const double messages = std::max(1.0, std::min(given.depth, given.window() / given.packets));
  const double answers = fetches(config) ? 0 : std::pow(p, messages) / given.packets;
  const double waits = losses.recoveries * timer_share(given, config, p) + answers;
  losses.waits = waits;
  losses.timer = timer;
  losses.timeout = waits > 0 ? waits * timer / (1 - p) : 0;
  return losses;
}

/// Returns the share of the READs or atomics of a window that wait at the responder, because
/// requests come faster than the responses to them leave.
double queued_share(const sim::PerfConfig& config, const Quantities& given) noexcept {
  if (!fetches(config)) return 0;
  const auto nic = static_cast<double>((config.nic.per_packet + config.nic.per_message).count());
  const double request = std::max(answer_bytes(config) * 8e9 / config.nic.rate_bps, nic);
  return std::max(0.0, 1 - request / given.message);
}

/// Returns the number of packets that a QP sends in vain between a loss and its NAK: its share of
/// what the port sends in a round trip, or the rest of its burst.
double wasted_packets(const Quantities& given, const sim::PerfConfig& config) noexcept {
  if (queued_share(config, given) > 0)  // the responder first sends everything requested before
    return given.window() - given.packets / 2;
  const double trip = given.round_trip / given.packet;
  double wasted = trip / given.qps;
  if (given.qps > 1) {
    const double most = config.nic.arbitration_burst;
    const double whole = std::floor(given.packets / most), rest = given.packets - whole * most;
    const double burst = (whole * most * most + rest * rest) / given.packets;
    if (trip < burst) wasted = trip - trip * trip / (2 * burst);
    if (trip >= burst && trip < (given.qps - 1) * burst) wasted = std::max(burst / 2, wasted);
  }
  return std::min(wasted, given.window());
}

/// Returns the share of the link that is idle while one QP waits for its timer: what the windows of
/// the other QPs don't fill.
double idle_link_share(const Quantities& given) noexcept {
  const double cycle = given.round_trip + given.message;
  return std::max(0.0, 1 - (given.qps - 1) * given.window() * given.packet / cycle);
}

/// Returns packets per ns of all QPs with go-back-N: the smaller of the windows' and the link's
/// limit.
double go_back_n_rate(const Quantities& given, const sim::PerfConfig& config, const Losses& losses,
                      double lossless) noexcept {
  const double p = losses.recoveries, window = given.window();
  const double cycle = given.qps * window / lossless;
  double a_packet = 0;  // ns per packet of one QP
  if (given.depth < 2 && given.psns == 0) {
    a_packet = cycle / given.packets + p / (1 - p) * (given.round_trip + given.packet);
  } else {
    // Rounds of a window per cycle. The first round after a recovery begins within a message.
    const double first = std::max(1.0, window - (given.psns > 0 ? 0 : (given.packets - 1) / 2));
    const double until = 1 / p;  // mean number of the lost packet, from 1
    const double rounds = std::pow(1 - p, first - 1) / -std::expm1(window * std::log1p(-p));
    const double within = given.packet * std::max(0.0, until + window - first - window * rounds);
    const double each = cycle * rounds + within + given.round_trip + given.packet;
    a_packet = each / std::max(until - 1, 1e-9);
  }
  const double by_window = given.qps / (a_packet + losses.timeout);
  // A lost request costs the link of the responses nothing.
  const double in_vain = (fetches(config) ? losses.p : p) * wasted_packets(given, config);
  const double waits = losses.timeout / given.qps * idle_link_share(given);
  const double by_line = 1 / (given.packet * (1 + in_vain) / (1 - p) + waits);
  return std::min({lossless, by_window, by_line});
}

/// Returns packets per ns of all QPs with selective repeat: a gap blocks the window for a round
/// trip.
double selective_rate(const Quantities& given, const Losses& losses, double lossless) noexcept {
  const double line = (1 - losses.p) / given.packet / given.qps;
  const bool by_window = lossless * given.packet < 0.97;
  const double window = given.window();
  const double cycle = by_window ? given.qps * window / lossless : given.round_trip + given.message;
  double rate = lossless / given.qps;
  for (int i = 0; i < 50; ++i) {  // fixed-point iteration
    const double gap = -std::expm1(rate * cycle * std::log1p(-losses.p));
    rate = (rate + std::min(line, window / (cycle + gap * given.round_trip))) / 2;
  }
  // While the timer runs, the QP sends until its window is full.
  const double full = window * given.packet * given.qps;
  const double idle = std::max(0.0, 1 - std::max(0.0, full - given.round_trip) / losses.timer);
  const double share = by_window ? 1 : idle_link_share(given);  // a window waits alone
  const double waits = losses.timeout > 0 ? losses.timeout * idle * share : 0;
  return std::min(lossless, given.qps / (1 / rate + waits));
}

/// Returns the throughput with independent losses of probability `p`.
double throughput_of(const sim::PerfConfig& config, const Quantities& given, double lossless,
                     double p) {
  double rate = lossless;
  if (p >= 1) return 0;
  if (p > 0) {
    const Losses losses = losses_of(given, config, p);
    rate = is_selective(config) ? selective_rate(given, losses, lossless)
                                : go_back_n_rate(given, config, losses, lossless);
  }
  return rate * 8e9 * config.size / given.packets;
}

/// Returns the loss that reduces the throughput by a tenth, by bisection of its logarithm.
double loss_for_a_tenth(const sim::PerfConfig& config, const Quantities& given, double lossless) {
  const double goal = 0.9 * throughput_of(config, given, lossless, 0);
  double low = std::log(1e-12), high = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (throughput_of(config, given, lossless, std::exp(middle)) > goal ? low : high) = middle;
  }
  return std::exp(low);
}

/// Whether packets wait behind the sender's port, with the timer running: for a slower wavelength,
/// or for a receiver that is slower than the link.
bool queues_behind_port(const sim::PerfConfig& config) noexcept {
  const double line = config.path.rate_bps > 0 ? config.path.rate_bps : config.nic.rate_bps;
  return line < config.nic.rate_bps ||
         (limits_sends(config) && config.nic.receive_send_bps < config.nic.rate_bps);
}

/// The estimate of the READs that wait is this exact.
constexpr double kFewFetches = 2;

/// How many READs or atomics of a QP wait at the responder: of the first window, and later those
/// that are not on the path.
double waiting_fetches(const sim::PerfConfig& config, const Quantities& given) noexcept {
  const double share = queued_share(config, given);
  if (share == 0) return 0;
  return std::max(given.depth * share,
                  given.depth - given.round_trip / (given.qps * given.message));
}

/// How many of them are beyond those that the responder takes.
double refused_fetches(const sim::PerfConfig& config, const Quantities& given) noexcept {
  if (!fetches(config) || config.qp.max_dest_rd_atomic == 0) return -given.depth;
  return waiting_fetches(config, given) - config.qp.max_dest_rd_atomic;
}

/// Packets of a SEND or WRITE up to the next that requests an ACK.
double asked_packets(const sim::PerfConfig& config, const Quantities& given) noexcept {
  const double most = std::min(given.packets, given.window());
  return config.qp.ack_every > 0 ? std::min<double>(most, config.qp.ack_every) : most;
}

/// Returns the longest time in ns from a packet, or an answer, until the QP's next answer, without
/// losses.
double longest_wait(const sim::PerfConfig& config, const Quantities& given) noexcept {
  const double burst = config.nic.arbitration_burst;
  const double others = given.qps - 1;
  const double queue = queues_behind_port(config) ? given.qps * given.window() : 0;
  if (fetches(config)) {  // one burst of each other QP comes before the next of this one
    const double turn =
        queued_share(config, given) > 0 ? others * std::min(burst, given.packets) : 0;
    return given.round_trip + (queue + 1 + turn) * given.packet;
  }
  const double asked = asked_packets(config, given);
  const double turns = given.packets > burst ? std::ceil(asked / burst) * others * burst : 0;
  return given.round_trip + (queue + asked + turns) * given.packet;
}

/// Whether losses cost so little that they change nothing else.
bool loses_little(const sim::PerfConfig& config, const Quantities& given, double lossless) {
  constexpr double kLittle = 0.03;
  return throughput_of(config, given, lossless, config.path.loss) >=
         (1 - kLittle) * throughput_of(config, given, lossless, 0);
}

/// What a timer does that may expire although nothing is lost.
enum class EarlyExpiry : std::uint8_t {
  none,      // it does not
  harmless,  // what is sent again is little, or fits into the time in which nothing else is sent
  breaks,    // the retries are used up before the first answer can come
  matters    // it costs throughput
};

/// An adaptive timer is at least 1.5 measured round trips long, and doubles at each expiry
/// (RetryTimer). It measures until all of a READ has come, or until an ACK of a packet or more.
double adaptive_expiries(const sim::PerfConfig& config, const Quantities& given, double longest,
                         double configured) noexcept {
  const double behind = fetches(config) ? given.packets : 1;
  const double first = std::min(configured, 1.5 * (given.round_trip + behind * given.packet));
  double expiries = 0;
  for (double at = first; at <= longest && expiries < 8; ++expiries)
    at += std::min(configured, first * std::exp2(expiries + 1));
  return expiries;
}

EarlyExpiry early_expiry(const sim::PerfConfig& config, const Quantities& given, double lossless) {
  if (config.qp.timeout == 0) return EarlyExpiry::none;
  const auto timer = static_cast<double>(transport::transport_timeout(config.qp.timeout).count());
  const double longest = longest_wait(config, given), tries = config.qp.retry_count + 1.0;
  if (tries * timer < given.round_trip) return EarlyExpiry::breaks;
  const double expiries = config.qp.adaptive_retransmission
                              ? adaptive_expiries(config, given, longest, timer)
                              : std::floor(longest / timer);
  if (expiries < 1) return EarlyExpiry::none;
  if (expiries >= tries || !loses_little(config, given, lossless)) return EarlyExpiry::matters;
  constexpr double kLittle = 0.01;
  const double each = is_selective(config) ? expiries : given.window();
  const double again = given.qps * each * given.packet;  // ns of the port in a cycle
  const double cycle = given.qps * given.window() / lossless;
  // The answers of a window come up to its length before the end of the longest wait.
  const bool fits = !is_selective(config) && expiries * timer <= given.round_trip - 2 * again;
  return again <= kLittle * cycle || fits ? EarlyExpiry::harmless : EarlyExpiry::matters;
}

/// Returns why every QP breaks without losses; empty if none does.
std::string_view breaks_because(const sim::PerfConfig& config, const Quantities& given,
                                EarlyExpiry early) noexcept {
  const bool kept = config.qp.max_dest_rd_atomic < transport::ResponseQueue::kMost;
  if (kept && refused_fetches(config, given) > kFewFetches)
    return "the responder refuses READs, as more wait there than --responder-reads allows";
  if (early == EarlyExpiry::breaks)
    return "the timer expires more often than --retries allows before the first answer can come: "
           "raise --timeout";
  return {};
}

/// Whether the windows together fill the buffer before a slower wavelength, which drops the rest.
bool overflows(const sim::PerfConfig& config, const Quantities& given) noexcept {
  const double rate = config.path.rate_bps;
  if (rate <= 0 || rate >= config.nic.rate_bps || config.path.rules) return false;
  const double outstanding = given.qps * given.window() * given.packet * rate / 8e9;
  return outstanding > static_cast<double>(config.path.buffer_bytes);
}

/// Returns the share of the throughput that the waits for the timer cost.
double share_of_waits(const sim::PerfConfig& config, const Quantities& given, double lossless) {
  sim::PerfConfig quick = config;
  quick.qp.timeout = 1;
  const double without = throughput_of(quick, given, lossless, config.path.loss);
  return 1 - throughput_of(config, given, lossless, config.path.loss) / without;
}

/// Returns why no formula holds with losses; empty if one does.
std::string_view unknown_with_loss(const sim::PerfConfig& config, const Quantities& given,
                                   double lossless) {
  constexpr double kMostLoss = 0.01, kMostGaps = 0.1, kMostBroken = 1e-9, kMostInVain = 0.5;
  constexpr double kMuchWait = 0.12;                          // of the throughput
  const double few_waits = std::max(4e-5, 3e-6 * given.qps);  // a packet
  if (config.qp.timeout == 0) return "a lost packet may never be found with --timeout 0";
  if (config.path.loss > kMostLoss) return "losses above 1 % follow each other closely";
  const Losses losses = losses_of(given, config, config.path.loss);
  // Each retry without progress has lost a packet or its answer. A NAK of selective repeat is none.
  const bool selective = config.qp.recovery == transport::Recovery::selective_repeat;
  const double first = selective ? losses.waits : 2 * config.path.loss;
  if (first * std::pow(2 * config.path.loss, config.qp.retry_count) > kMostBroken)
    return "a QP may use up its --retries at this loss";
  if (losses.waits < few_waits && share_of_waits(config, given, lossless) > kMuchWait)
    return "the waits for --timeout are too long and too rare for a mean";
  if (fetches(config) && config.path.loss * wasted_packets(given, config) > kMostInVain)
    return "at this loss most of the READs or atomics are repeated";
  const bool turns = given.qps > 1 && given.packets > config.nic.arbitration_burst;
  if (config.qp.adaptive_retransmission && turns)
    return "an adaptive timer follows how QPs with long messages take turns";
  if (queues_behind_port(config)) return "losses change the queue behind the sender's port";
  if (is_selective(config) && given.window() * config.path.loss > kMostGaps)
    return "with selective repeat, a window may have several gaps at this loss";
  return {};
}

/// Returns why no formula holds for a configuration; empty if one does.
std::string_view unknown_because(const sim::PerfConfig& config, const Quantities& given,
                                 double lossless, EarlyExpiry early) {
  constexpr double kFew = 3;  // messages of a QP
  const bool fills = lossless * given.packet > 0.999;
  const bool turns = given.qps > 1 && given.packets > config.nic.arbitration_burst;
  if (turns && given.depth <= kFew && (!fills || !loses_little(config, given, lossless)))
    return "QPs with few long messages outstanding take turns at the port";
  if (given.psns > 0 && given.rest > 0 && !fills)
    return "a PSN window and the NIC's time for a packet limit together";
  if (early == EarlyExpiry::matters)
    return "the timer may expire without a loss, as --timeout is short for this path";
  if (overflows(config, given)) return "the windows may overflow --path-buffer";
  if (waiting_fetches(config, given) > transport::ResponseQueue::kMost)
    return "more READs wait than a responder keeps";
  const bool many = fetches(config) && given.depth > config.qp.max_dest_rd_atomic;
  // Selective repeat executes all READs behind a gap at once.
  const bool at_once =
      config.path.loss > 0 && config.qp.recovery == transport::Recovery::selective_repeat;
  const double most = at_once ? -given.depth : -std::min(kFewFetches, given.depth - 1);
  if (many && config.qp.max_dest_rd_atomic > 0 && refused_fetches(config, given) > most)
    return "the responder may refuse READs, as --reads is above --responder-reads";
  return config.path.loss > 0 ? unknown_with_loss(config, given, lossless) : std::string_view{};
}

}  // namespace

std::string_view name_of(Limit limit) noexcept {
  switch (limit) {
    case Limit::line:
      return "line";
    case Limit::receiver:
      return "receiver";
    case Limit::tx_depth:
      return "tx depth";
    case Limit::outstanding_wqes:
      return "outstanding work requests";
    case Limit::reads:
      return "outstanding READs";
    case Limit::psn_window:
      return "PSN window";
    case Limit::none:
      return "every QP breaks";
  }
  return "";
}

Plan plan(const sim::PerfConfig& config) {
  Plan plan;
  const Quantities given = quantities_of(config);
  const double line = config.path.rate_bps > 0 ? config.path.rate_bps : config.nic.rate_bps;
  plan.round_trip = round_trip_of(config);
  const auto round_trip_ns = static_cast<double>(plan.round_trip.count());
  plan.bdp_bytes = round_trip_ns * line / 8e9;
  plan.goodput_bps = 8e9 * config.size / given.line_message;
  const double cycle = given.round_trip + given.message;
  plan.needed = static_cast<std::uint64_t>(std::ceil(cycle / given.message));
  const double messages = std::max(1.0, std::floor(given.window() / given.packets));
  plan.configured = static_cast<std::uint64_t>(messages) * config.qps;
  plan.qps_needed = (plan.needed * config.qps + plan.configured - 1) / plan.configured;
  const double lossless = lossless_rate(given, config);
  plan.lossless_bps = throughput_of(config, given, lossless, 0);
  plan.throughput_bps = throughput_of(config, given, lossless, config.path.loss);
  const bool fills = lossless * given.packet > 0.999;
  plan.limit = fills ? Limit::line : given.limit;
  if (fills && given.message > given.line_message) plan.limit = Limit::receiver;
  plan.window_packets = plan.lossless_bps / 8e9 / config.size * given.packets * round_trip_ns;
  plan.loss_for_90_percent = loss_for_a_tenth(config, given, lossless);
  const EarlyExpiry early = early_expiry(config, given, lossless);
  plan.breaks = breaks_because(config, given, early);
  if (!plan.breaks.empty()) plan.lossless_bps = 0;
  if (plan.breaks.empty() && config.path.loss > 0 && config.qp.retry_count == 0 &&
      config.qp.recovery == transport::Recovery::go_back_n)
    plan.breaks = "with --retries 0 a QP ends at its first lost packet";
  if (plan.breaks.empty()) {
    plan.unknown = unknown_because(config, given, lossless, early);
  } else {
    plan.limit = Limit::none;
    plan.throughput_bps = plan.loss_for_90_percent = 0;
  }
  return plan;
}

namespace {

std::string_view name_of(transport::Recovery recovery) noexcept {
  return recovery == transport::Recovery::go_back_n ? "go-back-N" : "selective repeat";
}

std::string loss_text(const sim::PerfConfig& config, const Plan& plan) {
  if (!plan.breaks.empty()) return fmt::format("breaks          every QP: {}\n", plan.breaks);
  std::string text = fmt::format("loss            {:.1e} costs {} a tenth of that\n",
                                 plan.loss_for_90_percent, name_of(config.qp.recovery));
  if (config.path.loss > 0)
    text += fmt::format("with losses     {} at a loss of {:.3g}, {:.1f} % of that\n",
                        format_bit_rate(plan.throughput_bps), config.path.loss,
                        100 * plan.throughput_bps / plan.lossless_bps);
  return text;
}

}  // namespace

std::string plan_text(const sim::PerfConfig& config, const Plan& plan, const std::string& command) {
  std::string text = fmt::format(
      "round trip      {} ({} there, {} back, {} in each host and NIC, each way)\n"
      "in flight       {} fill a round trip of {}\n"
      "line            carries {} of payload in {} messages of {} B\n",
      format_duration(plan.round_trip), format_duration(config.path.one_way),
      format_duration(config.path.way_back.value_or(config.path.one_way)),
      format_duration(config.nic.latency), format_bytes(plan.bdp_bytes),
      format_bit_rate(config.nic.rate_bps), format_bit_rate(plan.goodput_bps),
      wire::name_of(config.operation), config.size);
  text += fmt::format(
      "to fill it      {} messages outstanding: {} QPs of {} each, or one with a tx depth{} of {}\n"
      "configured      {} QPs, {} messages outstanding in all: {}\n"
      "what binds      {}\n",
      plan.needed, plan.qps_needed, plan.configured / config.qps,
      fetches(config) ? " and READs" : " and window", plan.needed, config.qps, plan.configured,
      format_bit_rate(plan.lossless_bps), name_of(plan.limit));
  text += loss_text(config, plan);
  if (!plan.unknown.empty())
    text += fmt::format("simulate        {}\n                as no formula holds: {}\n", command,
                        plan.unknown);
  return text;
}

const FigureTable& PlanReport::figures() {
  using Row = FigureOf<PlanReport>;
  static constexpr Figure kRows[] = {
      Row::of<[](const PlanReport& r) { return wire::name_of(r.config.operation); }>(
          "operation", "RDMA operation."),
      Row::of<[](const PlanReport& r) { return r.config.size; }>("bytes", "Message size, in bytes.",
                                                                 Unit::bytes),
      Row::of<[](const PlanReport& r) { return name_of(r.config.qp.recovery); }>(
          "recovery", "Recovery from loss."),
      Row::of<[](const PlanReport& r) { return r.config.path.loss; }>(
          "loss", "Share of packets that the path loses, 0 to 1."),
      Row::of<[](const PlanReport& r) { return r.plan.round_trip; }>("round_trip_ns", "Round trip.",
                                                                     Unit::ns),
      Row::of<[](const PlanReport& r) { return r.plan.bdp_bytes; }>(
          "bdp_bytes", "Bytes that fill a round trip.", Unit::bytes),
      Row::of<[](const PlanReport& r) { return r.plan.goodput_bps / 1e9; }>(
          "goodput_gbps", "Payload that the line carries.", Unit::gbps),
      Row::of<[](const PlanReport& r) { return r.plan.needed; }>(
          "messages_needed", "Messages outstanding that fill it."),
      Row::of<[](const PlanReport& r) { return r.plan.configured; }>(
          "messages_configured", "Messages outstanding of the settings."),
      Row::of<[](const PlanReport& r) { return r.plan.qps_needed; }>(
          "qps_needed", "QPs needed with the configured depth."),
      Row::of<[](const PlanReport& r) { return r.plan.lossless_bps / 1e9; }>(
          "lossless_gbps", "Throughput without loss.", Unit::gbps),
      Row::of<[](const PlanReport& r) { return r.plan.throughput_bps / 1e9; }>(
          "throughput_gbps", "Throughput with the loss.", Unit::gbps),
      Row::of<[](const PlanReport& r) { return r.plan.limit; }>("limit",
                                                                "What limits the throughput."),
      Row::of<[](const PlanReport& r) { return r.plan.window_packets; }>(
          "window_packets", "Packets outstanding of all QPs."),
      Row::of<[](const PlanReport& r) { return r.plan.loss_for_90_percent; }>(
          "loss_for_90_percent", "Loss that costs a tenth of the throughput, 0 to 1."),
      Row::of<[](const PlanReport& r) { return !r.plan.unknown.empty(); }>(
          "simulate", "True if no formula holds: perf --sim gives the figure."),
      Row::of<[](const PlanReport& r) { return r.plan.unknown; }>(
          "simulate_because", "Why no formula holds; empty if one does."),
      Row::of<[](const PlanReport& r) { return r.plan.breaks; }>(
          "breaks_because", "Why every QP breaks and carries nothing; empty if none does.")};
  static constexpr FigureTable kTable{"What fills a path, and what limits the throughput.", kRows};
  return kTable;
}

}  // namespace lw::gen
