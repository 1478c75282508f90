// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/capture_analysis.h"

#include <algorithm>
#include <sched.h>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/handoff.h"
#include "core/output.h"
#include "dissect/sessions/batch_reader.h"
#include "dissect/sessions/stamp_sorter.h"
#include "roce/describe.h"
#include "roce/frame.h"
#include "wire/address.h"

namespace lw::dissect {
namespace {

std::string end_text(const std::string& address, std::optional<std::uint32_t> qp) {
  return qp ? fmt::format("{} QP {:#x}", address, *qp) : address;
}

void follow_batch(Batch& batch, analysis::Analyst& analyst, StampSorter& sorter) {
  const bool sorts = sorter.is_needed();
  for (std::size_t i = 0; i < batch.packets.size(); ++i) {
    if (sorts) {
      sorter.add(std::move(batch.packets[i]), analyst);
    } else {
      analyst.fetch(std::span(batch.packets).subspan(i));
      analyst.add(batch.packets[i]);
    }
  }
  add_beside(batch, analyst);
}

/// Reads frames and follows them in turns, in one thread.
void follow_in_turns(BatchReader& reader, analysis::Analyst& analyst, StampSorter& sorter,
                     std::size_t most) {
  Batch batch;
  for (bool more = true; more;) {
    more = reader.read(batch, most);
    follow_batch(batch, analyst, sorter);
  }
}

/// Keeps the calling thread away from a core, if it may run on another one.
void avoid_core(int core) noexcept {
  cpu_set_t cores;
  if (core < 0 || sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  CPU_CLR(static_cast<std::size_t>(core), &cores);
  if (CPU_COUNT(&cores) > 0) sched_setaffinity(0, sizeof cores, &cores);
}

/// Reads frames in a second thread, while this thread follows them. The second avoids the core
/// of the first: nothing else keeps the kernel from leaving both on one core, where they take
/// longer than one thread (0.19 to 0.30 s for 0.17 s, bound to one core). Batches are used again:
/// the reading thread takes 110 ns for a 64-byte frame, instead of 132 with new ones.
void follow_in_two_threads(BatchReader& reader, analysis::Analyst& analyst, StampSorter& sorter) {
  constexpr std::size_t kBatch = 1024, kBatches = 8;
  WaitingQueue<Batch> full(kBatches), empty(kBatches);
  for (std::size_t i = 0; i < kBatches; ++i) empty.push({});
  std::jthread reading([&, core = sched_getcpu()] {
    avoid_core(core);
    for (bool more = true; more;) {
      Batch batch = std::move(*empty.pop());
      more = reader.read(batch, kBatch);
      full.push(std::move(batch));
    }
    full.close();
  });
  while (auto batch = full.pop()) {
    follow_batch(*batch, analyst, sorter);
    empty.push(std::move(*batch));
  }
}

}  // namespace

void report_unfollowed(const analysis::Analyst& analyst) {
  if (analyst.unfollowed() > 0)
    print_report(fmt::format("{} packets belong to connections beyond the first {}, which are not "
                             "followed\n",
                             analyst.unfollowed(), analysis::Analyst::kMostSessions),
                 true);
  if (const std::uint64_t beyond = analyst.setups().beyond(); beyond > 0)
    print_report(fmt::format("{} messages of set-ups, of ICMP or for link addresses are beyond "
                             "what is followed (the first {} set-ups)\n",
                             beyond, analysis::SetupLog::kMostSetups),
                 true);
}

Followed CaptureTotals::followed() const {
  std::uint64_t unknown = 0;
  for (const auto& [opcode, count] : opcodes) unknown += count;
  if (unknown == roce) return Followed::nothing;
  return unknown == 0 && unopened.empty() && tunnels.empty() ? Followed::all : Followed::part;
}

std::vector<analysis::Anomaly>& CollectedResults::in_order() {
  if (!is_ordered_) std::ranges::stable_sort(anomalies_, {}, &analysis::Anomaly::frame);
  return anomalies_;
}

std::optional<Error> analyse(FrameSource& source, analysis::Analyst& analyst, CapturePoints& points,
                             unsigned jobs, CaptureTotals* totals, const EachFrame& each,
                             const EachPayload& payloads) {
  CaptureTotals counted;
  BatchReader reader(source, points, counted, each, {}, payloads);
  const bool in_order = each || payloads;
  // When the analysis gets a frame, the observer has seen it, but no later one.
  // Data files do not depend on the order of frames of different flows.
  StampSorter sorter(in_order ? StampOrder() : points.order());
  if (in_order)
    follow_in_turns(reader, analyst, sorter, 1);
  else if (jobs > 1)
    follow_in_two_threads(reader, analyst, sorter);
  else
    follow_in_turns(reader, analyst, sorter, 64);
  sorter.finish(analyst);
  analyst.finish();
  report_unfollowed(analyst);
  counted.unopened = source.unopened();
  counted.dropped = source.dropped();
  if (totals != nullptr) *totals = counted;
  return reader.damage();
}

std::uint32_t other_protocol(const roce::Envelope& envelope) noexcept {
  return std::uint32_t{envelope.ether_type} << 8 | envelope.protocol;
}

std::string other_protocol_name(std::uint32_t protocol) {
  const auto ether_type = static_cast<std::uint16_t>(protocol >> 8);
  const bool is_ip = ether_type == wire::kEtherTypeIpv4 || ether_type == wire::kEtherTypeIpv6;
  if (!is_ip) return roce::ether_type_name(ether_type);
  const auto upper = static_cast<std::uint8_t>(protocol & 0xff);
  return upper == wire::kProtocolUdp ? "UDP" : roce::protocol_name(upper);
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
