// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/packet_flow.h"

#include <algorithm>
#include <random>

#include "nic/clock.h"

namespace lw::gen::otg {
namespace {

config::Rate known_rate(const config::Rate& rate, double line_bps) noexcept {
  using Unit = config::Rate::Unit;
  if (rate.unit != Unit::link) return rate;
  return {Unit::wire_bits, rate.value * line_bps};
}

std::vector<PacketFrame> frames_of(const LabPlan& plan, const PlannedPackets& flow) {
  std::vector<PacketFrame> frames;
  for (const PacketEnds& ends : flow.ends) {
    const PlannedHost &from = plan.hosts[ends.from], &to = plan.hosts[ends.to];
    const PacketDefaults defaults{
        .source = from.own.mac, .from = from.own.ip, .to = to.own.ip, .vlan = from.vlan};
    frames.emplace_back(flow, &defaults);
  }
  if (frames.empty()) frames.emplace_back(flow, nullptr);
  return frames;
}

bool receives(const PlannedPackets& flow, std::size_t port) noexcept {
  return std::ranges::find(flow.rx_ports, port) != flow.rx_ports.end();
}

}  // namespace

PacketFlow::PacketFlow(PlannedPackets planned, std::uint32_t number, const LabPlan& plan,
                       const std::vector<std::unique_ptr<LabHost>>& hosts, const Port& port,
                       const nic::StampClock& clock)
    : planned_(std::move(planned)),
      flow_(kFirstNumber + number),
      plan_(plan),
      hub_(port.hub),
      hosts_(hosts),
      line_bps_(port.line_bps),
      clock_(clock),
      frames_(frames_of(plan, planned_)),
      sizes_(number, kFirstNumber),
      rate_(known_rate(planned_.rate, port.line_bps)),
      pacer_(rate_, 1),
      run_(static_cast<std::uint16_t>(std::random_device{}())) {}

Duration PacketFlow::time_of(const FlowTime& time) const noexcept {
  constexpr double kMicro = 1e3, kSecond = 1e9, kByteBits = 8;
  double ns = time.nanoseconds;
  if (time.choice == "microseconds") ns = time.microseconds * kMicro;
  if (time.choice == "bytes" || time.choice.empty())
    ns = line_bps_ > 0 ? time.bytes * kByteBits * kSecond / line_bps_ : 0;
  return Duration{static_cast<std::int64_t>(ns)};
}

void PacketFlow::begin(Instant now) {
  state_ = State::started;
  pacer_ = Pacer(rate_, 1);
  begin_ = now;
  extra_ = {};
}

void PacketFlow::start(Instant now) {
  begin(now);
  begin_ += time_of(planned_.span.delay);
  resolved_ = planned_.ends.empty();
  ++run_;
  number_ = 0;
  used_ = {};
  sent_ = sampled_sent_ = {};
  arrivals_ = PacketArrivals{};
  sampled_frames_ = sampled_bytes_ = 0;
}

void PacketFlow::resume(Instant now) {
  if (state_ == State::paused) begin(now);
}

void PacketFlow::pause(Instant now) {
  if (state_ != State::started) return;
  used_ += std::max(now - begin_, Duration{});
  state_ = State::paused;
}

/// Finds the MAC addresses that frames go to. The flow begins when all are known.
bool PacketFlow::resolve(Instant now) {
  if (resolved_) return true;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const PacketEnds& ends = planned_.ends[i];
    const auto mac = hosts_[ends.from]->next_mac(plan_.hosts[ends.to].own.ip, now);
    if (!mac) return false;
    frames_[i].set_destination(*mac);
  }
  resolved_ = true;
  begin_ = std::max(begin_, now);
  return true;
}

Instant PacketFlow::due() const noexcept { return begin_ + pacer_.due() + extra_; }

bool PacketFlow::ended(Instant due) const noexcept {
  const PacketSpan& span = planned_.span;
  return (span.frames && number_ >= *span.frames) ||
         (span.time && due - begin_ + used_ >= *span.time);
}

Duration PacketFlow::pause_until_due(Instant now) const noexcept {
  constexpr Duration kAsking = std::chrono::milliseconds(10);
  if (state_ != State::started) return Duration::max();
  return resolved_ ? std::max(due() - now, Duration{}) : kAsking;
}

std::size_t PacketFlow::send_due(Instant now) {
  constexpr std::size_t kMostAtOnce = 64;
  if (state_ != State::started || !resolve(now)) return 0;
  std::size_t count = 0;
  for (; count < kMostAtOnce; ++count) {
    const Instant next = due();
    if (ended(next)) {
      stop();
      break;
    }
    if (next > now) break;
    send_one();
  }
  return count;
}

void PacketFlow::send_one() {
  const PacketFrame& frame = frames_[number_ % frames_.size()];
  const std::size_t length = PacketFrame::length_of(planned_.sizes.draw(sizes_, number_));
  const wire::MutableBytes room = hub_.add(length, &sent_);
  if (!room.empty()) {
    const auto signature = signature_of(flow_, number_, run_, clock_, nic::now());
    frame.write(number_ / frames_.size(), planned_.metrics.enable ? &signature : nullptr, room);
    hub_.added(room);
  }
  ++number_;
  pacer_.advance(wire_bytes(length));
  const PacketSpan& span = planned_.span;
  if (span.burst > 0 && number_ % span.burst == 0) extra_ += time_of(span.gap);
}

void PacketFlow::note_arrival(std::size_t length) {
  ++arrivals_.frames;
  arrivals_.bytes += length + kFcs;
  arrivals_.last = nic::now();
  if (!arrivals_.first) arrivals_.first = arrivals_.last;
}

void PacketFlow::count_signed(const wire::SignatureFields& signature, std::size_t length) {
  if (signature.run != run_) return;  // of an earlier start
  note_arrival(length);
  using Kind = analysis::Arrival::Kind;
  if (arrivals_.tracker.add(signature.sequence).kind == Kind::duplicate) ++arrivals_.copies;
  if (const auto took = latency_of(signature, clock_, arrivals_.last)) arrivals_.latency.add(*took);
}

bool PacketFlow::count_plain(wire::Bytes frame) {
  const bool of_flow = std::ranges::any_of(frames_, [&](const PacketFrame& each) {
    return !each.is_signed(frame.size()) && each.matches(frame);
  });
  if (of_flow) note_arrival(frame.size());
  return of_flow;
}

void PacketFlow::sample(double seconds) noexcept {
  const auto rate = [&](std::uint64_t now, std::uint64_t before) {
    return static_cast<double>(now - before) / seconds;
  };
  rates_ = {.sent_frames = rate(sent_.frames, sampled_sent_.frames),
            .received_frames = rate(arrivals_.frames, sampled_frames_),
            .sent_bytes = rate(sent_.bytes, sampled_sent_.bytes),
            .received_bytes = rate(arrivals_.bytes, sampled_bytes_)};
  sampled_sent_ = sent_;
  sampled_frames_ = arrivals_.frames;
  sampled_bytes_ = arrivals_.bytes;
}

std::uint32_t PacketFlows::free_number() const noexcept {
  const auto free = std::ranges::find(by_number_, nullptr);
  return static_cast<std::uint32_t>(free - by_number_.begin());
}

void PacketFlows::add(std::unique_ptr<PacketFlow> flow) {
  flows_.push_back(std::move(flow));
  set_tables();
}

void PacketFlows::remove(const std::vector<std::string>& names) {
  std::erase_if(flows_, [&](const auto& flow) {
    return std::ranges::find(names, flow->planned().name) != names.end();
  });
  set_tables();
}

void PacketFlows::set_tables() {
  by_number_.clear();
  places_.clear();
  plain_.clear();
  for (const auto& flow : flows_) {
    by_number_.resize(std::max<std::size_t>(by_number_.size(), flow->number() + 1));
    by_number_[flow->number()] = flow.get();
    const PlannedPackets& planned = flow->planned();
    if (!planned.metrics.enable) continue;
    if (std::ranges::find(places_, flow->payload_at()) == places_.end())
      places_.push_back(flow->payload_at());
    const std::size_t least = PacketFrame::length_of(planned.sizes.smallest());
    if (least < flow->payload_at() + kSignatureSize + wire::kIcrcSize) plain_.push_back(flow.get());
  }
}

std::vector<NamedFlow> PacketFlows::names() const {
  std::vector<NamedFlow> names;
  for (const auto& flow : flows_) names.push_back({flow->planned().name});
  return names;
}

bool PacketFlows::send_due(Instant now) {
  std::size_t sent = 0;
  for (const auto& flow : flows_) sent += flow->send_due(now);
  return sent > 0;
}

Duration PacketFlows::pause_until_due(Instant now) const noexcept {
  Duration pause = Duration::max();
  for (const auto& flow : flows_) pause = std::min(pause, flow->pause_until_due(now));
  return pause;
}

void PacketFlows::sample(double seconds) noexcept {
  for (const auto& flow : flows_) flow->sample(seconds);
}

bool PacketFlows::count_frame(std::size_t port, wire::Bytes frame) {
  for (const std::size_t place : places_) {
    const auto* signature = wire::view_at<wire::Signature>(frame, place);
    if (signature == nullptr || !signature->present()) continue;
    const wire::SignatureFields fields = signature->fields();
    const std::size_t number = fields.flow - PacketFlow::kFirstNumber;
    if (fields.flow < PacketFlow::kFirstNumber || number >= by_number_.size()) continue;
    PacketFlow* flow = by_number_[number];
    if (flow == nullptr || flow->payload_at() != place || !receives(flow->planned(), port))
      continue;
    flow->count_signed(fields, frame.size());
    return true;
  }
  return std::ranges::any_of(plain_, [&](PacketFlow* flow) {
    return receives(flow->planned(), port) && flow->count_plain(frame);
  });
}

}  // namespace lw::gen::otg
