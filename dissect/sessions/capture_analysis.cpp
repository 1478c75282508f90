// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/capture_analysis.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/handoff.h"
#include "core/output.h"
#include "roce/frame.h"
#include "wire/address.h"
#include "wire/pfc.h"

namespace lw::dissect {
namespace {

std::string point_name(const capture::Interface& interface) {
  const auto& parts = capture::kRecordingInterfaces;
  if (interface.name == parts[0] || interface.name == parts[3]) return "west";
  if (interface.name == parts[1] || interface.name == parts[2]) return "east";
  for (const char* const host : {"client", "server"})
    for (const char* const way : {"-in", "-out"})
      if (interface.name == std::string(host) + way) return host;
  return interface.name;
}

std::string end_text(const std::string& address, std::optional<std::uint32_t> qp) {
  return qp ? fmt::format("{} QP {:#x}", address, *qp) : address;
}

void count_roce(CaptureTotals& totals, const CapturedFrame& captured) {
  const Instant stamp = captured.record.stamp;
  totals.first = totals.roce == 0 ? stamp : std::min(totals.first, stamp);
  totals.last = totals.roce == 0 ? stamp : std::max(totals.last, stamp);
  ++totals.roce;
  totals.cut += captured.envelope.wire_length > captured.envelope.bytes.size();
  totals.ecn_capable += captured.envelope.ecn() != 0;
}

/// A frame of priority flow control.
struct Pause {
  std::uint64_t number;
  Instant stamp;
  wire::PfcFields fields;
};
/// What the analysis takes of a frame.
using Step = std::variant<analysis::KeyedPacket, Pause>;

void take(const Step& step, analysis::Analyst& analyst) {
  if (const auto* packet = std::get_if<analysis::KeyedPacket>(&step)) return analyst.add(*packet);
  const auto& pause = std::get<Pause>(step);
  analyst.add_pause(pause.number, pause.stamp, pause.fields);
}

std::optional<Step> pause_step(const CapturedFrame& frame) {
  if (frame.envelope.ethernet == nullptr) return std::nullopt;
  const auto fields = wire::pfc_of(frame.record.bytes);
  if (!fields) return std::nullopt;
  return Pause{frame.number, frame.record.stamp, *fields};
}

/// Reads all frames, and calls give(step) for those that the analysis takes.
template <class Give>
std::optional<Error> read_steps(FrameSource& source, CapturePoints& points, CaptureTotals& totals,
                                Give give, const EachFrame& each = {}) {
  analysis::PacketReader reader;
  for (;;) {
    const auto captured = source.next();
    if (!captured) return captured.error();
    if (!*captured) return std::nullopt;
    ++totals.frames;
    const auto frame = roce::parse((*captured)->envelope);
    if (!frame) {
      if (auto step = pause_step(**captured)) give(std::move(*step));
      continue;
    }
    count_roce(totals, **captured);
    if (each) each(**captured, *frame);
    give(reader.read({.number = (*captured)->number,
                      .stamp = (*captured)->record.stamp,
                      .point = points.of(**captured, source.interfaces()),
                      .frame = *frame,
                      .icrc = roce::check_icrc((*captured)->envelope)}));
  }
}

/// read_steps() in a second thread, while this one follows.
std::optional<Error> follow_in_two_threads(FrameSource& source, analysis::Analyst& analyst,
                                           CapturePoints& points, CaptureTotals& totals) {
  constexpr std::size_t kBatch = 1024, kMostBatches = 16;
  std::optional<Error> damage;
  WaitingQueue<std::vector<Step>> queue(kMostBatches);
  std::jthread reading([&] {
    std::vector<Step> batch;
    damage = read_steps(source, points, totals, [&](Step step) {
      batch.push_back(std::move(step));
      if (batch.size() == kBatch) queue.push(std::exchange(batch, {}));
      if (batch.capacity() == 0) batch.reserve(kBatch);
    });
    queue.push(std::move(batch));
    queue.close();
  });
  while (const auto batch = queue.pop())
    for (const Step& step : *batch) take(step, analyst);
  reading.join();
  return damage;
}

/// Connections that were too many to follow are not silently left out.
void report_unfollowed(const analysis::Analyst& analyst) {
  if (analyst.unfollowed() == 0) return;
  print_report(
      fmt::format("{} packets belong to connections beyond the first {}, which are not followed\n",
                  analyst.unfollowed(), analysis::Analyst::kMostSessions),
      true);
}

}  // namespace

std::uint32_t CapturePoints::of(const CapturedFrame& frame,
                                const std::vector<capture::Interface>& interfaces) {
  const std::uint32_t interface = frame.record.interface;
  if (interface >= by_interface_.size()) by_interface_.resize(interface + 1);
  auto& point = by_interface_[interface];
  if (point) return *point;
  const std::string name = interface < interfaces.size() ? point_name(interfaces[interface]) : "";
  const bool numbered = name.empty() && interface > 0 && frame.file == 0;
  const std::string label = numbered ? fmt::format("{}", interface) : name;
  const auto known = std::ranges::find(names_, label);
  point = static_cast<std::uint32_t>(known - names_.begin());
  if (known == names_.end()) names_.push_back(label);
  return *point;
}

void CollectedResults::found(const analysis::Anomaly& anomaly) {
  if (anomalies_.size() < kMostAnomalies)
    anomalies_.push_back(anomaly);
  else
    ++beyond_;
}

std::vector<analysis::Anomaly>& CollectedResults::in_order() {
  std::ranges::stable_sort(anomalies_, {}, &analysis::Anomaly::frame);
  return anomalies_;
}

std::optional<Error> analyse(FrameSource& source, analysis::Analyst& analyst, CapturePoints& points,
                             unsigned jobs, CaptureTotals* totals, const EachFrame& each) {
  CaptureTotals counted;
  auto damage = jobs > 1 && !each ? follow_in_two_threads(source, analyst, points, counted)
                                  : read_steps(
                                        source, points, counted,
                                        [&](const Step& step) { take(step, analyst); }, each);
  analyst.finish();
  report_unfollowed(analyst);
  for (const auto& [link_type, frames] : source.unopened()) counted.unopened += frames;
  if (totals != nullptr) *totals = counted;
  return damage;
}

std::string address_text(const std::array<std::byte, 16>& address) {
  return wire::to_string(wire::ip_of(wire::Ipv6Address{address}));
}

Ends ends_of(const analysis::Analyst& analyst, const analysis::Session& session,
             std::uint8_t direction) {
  Ends ends;
  const std::uint32_t there = session.directions[direction].flow;
  const std::uint32_t back = session.directions[1 - direction].flow;
  const analysis::QpFlow& known = analyst.flows()[there != analysis::QpFlow::kNone ? there : back];
  const bool is_there = there != analysis::QpFlow::kNone;
  ends.from_address = address_text(is_there ? known.key.source : known.key.destination);
  ends.to_address = address_text(is_there ? known.key.destination : known.key.source);
  if (is_there) ends.to_qp = known.key.qp;
  if (is_there && known.key.source_qp != 0) ends.from_qp = known.key.source_qp;
  if (back != analysis::QpFlow::kNone) ends.from_qp = analyst.flows()[back].key.qp;
  ends.from = end_text(ends.from_address, ends.from_qp);
  ends.to = end_text(ends.to_address, ends.to_qp);
  return ends;
}

}  // namespace lw::dissect
