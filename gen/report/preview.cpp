// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/preview.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/flow/profile.h"
#include "core/counted.h"
#include "gen/report/run_report.h"
#include "gen/traffic/tx_scheduler.h"
#include "roce/describe.h"

namespace lw::gen {
namespace {

using config::Flow;
using config::FlowProfile;
using config::Rate;

/// Most frames of all flows that walk() counts: a second or two.
constexpr std::uint64_t kLongestWalk = 10'000'000;

Duration seconds(double value) {
  constexpr double kMost = 9e9;  // what nanoseconds hold
  return Duration{static_cast<std::int64_t>(std::min(value, kMost) * 1e9)};
}

/// True if the number of frames and their time can be computed from one message.
bool is_simple(const Flow& flow, const FlowCursor& stream) {
  return stream.is_regular() && !flow.stop_after && flow.qps == 1 &&
         flow.arrival == config::ArrivalProcess::constant && flow.start_after == Duration{0};
}

double expected_frames(const Flow& flow) {
  const double messages =
      static_cast<double>(flow.messages) * static_cast<double>(flow.repeat.value_or(1));
  return messages * flow.means.frames * flow.qps;
}

/// Counts the frames of the run, in virtual time. Takes them from `budget`, and leaves `f` as it is
/// if that is too small.
void walk(const FlowProfile& profile, std::size_t first, std::uint64_t& budget, FlowPreview& f) {
  FlowProfile alone;
  alone.seed = profile.seed;
  const std::uint32_t qps = profile.flows[first].qps;
  alone.flows.assign(profile.flows.begin() + static_cast<std::ptrdiff_t>(first),
                     profile.flows.begin() + static_cast<std::ptrdiff_t>(first + qps));
  TxScheduler scheduler(alone);
  std::uint64_t frames = 0;
  Duration end{0};
  while (const auto due = scheduler.next()) {
    scheduler.advance();
    const Duration span = scheduler.cursor(due->flow).pacer().span();
    end = std::max(end, span - shared_part(span - due->at, qps));
    ++frames;
    if (--budget == 0) return;
  }
  f.frames = frames;
  f.time = end;
  f.exact = true;
}

FlowPreview preview_flow(const FlowProfile& profile, std::size_t first, const FlowCursor& stream,
                         std::uint64_t& budget) {
  const Flow& flow = profile.flows[first];
  constexpr double kMost = 0x1p63;
  FlowPreview f{.flow = &flow, .first = first};
  f.bits_per_second = mean_wire_bits(flow) * flow.qps;
  f.frames_per_second = f.bits_per_second / (8 * flow.means.wire_bytes) * flow.means.frames;
  const bool endless = !flow.repeat && !flow.stop_after;
  if (endless) return f;
  const double expected = expected_frames(flow);
  const double at_rate = expected / f.frames_per_second;
  const auto most = flow.stop_after ? *flow.stop_after - flow.start_after : Duration::max();
  const Duration time = flow.repeat ? std::min(seconds(at_rate), most) : most;
  f.exact = is_simple(flow, stream);
  f.frames = f.exact ? *stream.total_frames()
                     : static_cast<std::uint64_t>(std::min(
                           static_cast<double>(time.count()) * 1e-9 * f.frames_per_second, kMost));
  f.time = flow.start_after + time;
  if (f.exact && flow.rate.unit == Rate::Unit::frames) {
    f.time = seconds(static_cast<double>(*f.frames) / flow.rate.value);
  }
  if (!f.exact && *f.frames < budget) walk(profile, first, budget, f);
  return f;
}

std::string operation_name(const Flow& flow) {
  return fmt::format("{} {}{}{}", name_of(flow.message.transport), name_of(flow.message.operation),
                     flow.message.immediate ? " IMM" : "", flow.message.invalidate ? " INV" : "");
}

std::string ends_of(const roce::FrameFields& frame) {
  if (frame.encapsulation == wire::Encapsulation::ipv4) {
    return fmt::format("IPv4 {} -> {}", to_string(frame.ipv4.source),
                       to_string(frame.ipv4.destination));
  }
  const bool v1 = frame.encapsulation == wire::Encapsulation::grh;
  return fmt::format("{} {} -> {}", v1 ? "RoCEv1" : "IPv6", to_string(frame.ipv6.source),
                     to_string(frame.ipv6.destination));
}

std::string range_of(const FlowProfile& profile, std::size_t first) {
  const Flow& flow = profile.flows[first];
  if (flow.qps == 1) return fmt::format("QP {:#x}", flow.frame.bth.dest_qp);
  return fmt::format("{} QPs from {:#x} to {:#x}", flow.qps, flow.frame.bth.dest_qp,
                     profile.flows[first + flow.qps - 1].frame.bth.dest_qp);
}

std::string size_words(const Flow& flow) {
  const double frames = flow.means.frames;
  if (!flow.sizes.vary()) {
    return fmt::format("{} B, {} each", flow.message.length,
                       counted(static_cast<std::uint64_t>(std::llround(frames)), "frame"));
  }
  return fmt::format("{} to {} B, {:.2f} frames each on average", flow.sizes.smallest(),
                     flow.sizes.largest(), frames);
}

std::string arrival_words(const Flow& flow) {
  std::string text;
  if (flow.burst == Flow::kWholeMessage) text += ", a message at once";
  if (flow.burst > 1) text += fmt::format(" in bursts of {}", flow.burst);
  if (flow.arrival == config::ArrivalProcess::poisson) text += ", Poisson";
  if (flow.arrival == config::ArrivalProcess::on_off) {
    text += fmt::format(", {} on and {} off", format_set_duration(flow.on),
                        format_set_duration(flow.off));
  }
  if (flow.start_after > Duration{0}) {
    text += fmt::format(", from {} on", format_set_duration(flow.start_after));
  }
  return text;
}

std::string fault_words(const Flow& flow) {
  std::string text;
  for (const config::Fault& fault : flow.faults ? *flow.faults : std::vector<config::Fault>{}) {
    text += fault.frames.empty()
                ? fmt::format("  fault {}: {:g} of the frames\n", name_of(fault.kind), fault.rate)
                : fmt::format("  fault {}: frames {}\n", name_of(fault.kind),
                              fmt::join(fault.frames, ", "));
  }
  return text;
}

std::string describe_flow(const FlowProfile& profile, const FlowPreview& f) {
  const Flow& flow = *f.flow;
  std::string text =
      fmt::format("{}: {}, {}, {}\n", flow.name,
                  flow.message.operation == wire::Operation::cnp ? "CNP" : operation_name(flow),
                  range_of(profile, f.first), ends_of(flow.frame));
  text += fmt::format("  {}{} of {}{}\n", counted(flow.messages, "message"),
                      flow.qps == 1 ? "" : " a QP", size_words(flow),
                      !flow.repeat        ? ", again and again"
                      : *flow.repeat == 1 ? ""
                                          : fmt::format(", {} times", *flow.repeat));
  text += fmt::format("  {}, {} frames/s{}", format_bit_rate(f.bits_per_second),
                      per_second_text(f.frames_per_second), arrival_words(flow));
  text += f.time ? fmt::format(": {}{} in {}\n", f.exact ? "" : "about ",
                               counted(*f.frames, "frame"), format_set_duration(*f.time))
                 : std::string(": until it is stopped\n");
  return text + fault_words(flow);
}

/// Describes a frame in one line.
std::string frame_text(wire::Bytes bytes) {
  const auto frame = roce::parse(bytes);
  if (!frame || frame->info == nullptr) return "not RoCE";
  return fmt::format("{}  frame {} B", roce::describe(*frame), bytes.size());
}

/// Returns the first frames that a scheduler sends.
std::vector<FramePreview> first_frames(const FlowProfile& profile, TxScheduler& scheduler,
                                       std::uint64_t most) {
  std::vector<FramePreview> frames;
  std::vector<std::byte> buffer;
  for (auto due = scheduler.next(); due && frames.size() < most; due = scheduler.next()) {
    buffer.resize(due->size());
    due->frame->write(due->fields, buffer);
    std::string words = frame_text(buffer);
    if (due->fault) words = fmt::format("[{}] {}", name_of(*due->fault), words);
    frames.push_back({due->at, full_name(profile.flows[due->flow]), std::move(words)});
    scheduler.advance();
  }
  return frames;
}

FieldValue repeat_of(const FlowPreview& preview) {
  if (!preview.flow->repeat) return "forever";
  return *preview.flow->repeat;
}

}  // namespace

Preview preview_of(const FlowProfile& profile, std::uint64_t frames, PortPacings ports) {
  TxScheduler scheduler(profile);
  std::uint64_t budget = kLongestWalk;
  Preview preview{.profile = profile, .flows = {}, .ports = std::move(ports), .first_frames = {}};
  for (std::size_t i = 0; i < profile.flows.size(); i += profile.flows[i].qps)
    preview.flows.push_back(preview_flow(profile, i, scheduler.cursor(i), budget));
  preview.first_frames = first_frames(profile, scheduler, frames);
  return preview;
}

std::string to_text(const Preview& preview) {
  std::string text;
  for (const FlowPreview& flow : preview.flows) text += describe_flow(preview.profile, flow);
  for (const PortPacing& port : preview.ports) {
    text += fmt::format("port {}: paced by {}\n", port.port,
                        port.by_device ? "the device, which sends on timestamps" : "this program");
  }
  text += "first frames:\n";
  for (const auto& [at, flow, words] : preview.first_frames)
    text += fmt::format("  {:>12}  {}: {}\n", format_set_duration(at), flow, words);
  return text;
}

const FigureTable& PortPacing::figures() {
  using Row = FigureOf<PortPacing>;
  static constexpr std::string_view kBy[] = {"device", "program"};
  static constexpr Figure kRows[] = {
      Row::of<&PortPacing::port>("port", "The port, as given."),
      Row::of<[](const PortPacing& port) { return kBy[port.by_device ? 0 : 1]; }>(
          "paced_by", "What waits for the send times.")
          .among(kBy)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& FramePreview::figures() {
  using Row = FigureOf<FramePreview>;
  static constexpr Figure kRows[] = {
      Row::of<&FramePreview::at>("at_ns", "Send time after the start.", Unit::ns),
      Row::of<&FramePreview::flow>("flow", "Name of the flow."),
      Row::of<&FramePreview::frame>("frame", "The frame, described.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& FlowPreview::figures() {
  using Row = FigureOf<FlowPreview>;
  static constexpr Figure kRows[] = {
      Row::of<[](const FlowPreview& f) -> const auto& { return f.flow->name; }>(
          "name", "Name of the flow."),
      Row::of<[](const FlowPreview& f) { return operation_name(*f.flow); }>("operation",
                                                                            "RDMA operation."),
      Row::of<[](const FlowPreview& f) { return f.flow->qps; }>("qps", "Number of QPs."),
      Row::of<[](const FlowPreview& f) { return f.flow->messages; }>(
          "messages", "Messages of a round, per QP."),
      Row::of<[](const FlowPreview& f) { return f.flow->message.length; }>(
          "message_size", "Message size, in bytes.", Unit::bytes),
      Row::of<[](const FlowPreview& f) { return f.flow->means.frames; }>(
          "packets_per_message", "Mean packets of a message."),
      Row::of<[](const FlowPreview& f) { return f.flow->means.wire_bytes; }>(
          "wire_bytes_per_message", "Mean bytes of a message on the wire.", Unit::bytes),
      Row::of<repeat_of>("repeat", "Rounds, or `forever`."),
      Row::of<&FlowPreview::frames>("frames", "All frames; null if endless.", Unit::frames)
          .or_null(),
      Row::of<&FlowPreview::exact>("exact", "True if the number of frames is exact."),
      Row::of<&FlowPreview::bits_per_second>("bits_per_second", "Rate on the wire.",
                                             Unit::bits_per_second),
      Row::of<&FlowPreview::frames_per_second>("frames_per_second", "Rate, in frames per second."),
      Row::of<&FlowPreview::time>("duration_ns", "Duration; null if endless.", Unit::ns)
          .or_null()};  // namespace lw::gen
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& Preview::figures() {
  using Row = FigureOf<Preview>;
  static constexpr Figure kRows[] = {
      Row::of<[](const Preview& p) -> const auto& { return p.profile.name; }>(
          "profile", "Name of the profile."),
      Row::of<[](const Preview& p) { return p.profile.seed; }>("seed", "Random seed."),
      Row::of<&Preview::flows>("flows", "The flows."),
      Row::of<&Preview::ports>("ports", "Pacing by port.").if_any(),
      Row::of<&Preview::first_frames>("first_frames", "The first frames.")};
  static constexpr FigureTable kTable{"Frames, rates and time of a flow profile.", kRows};
  return kTable;
}

}  // namespace lw::gen
