// SPDX-License-Identifier: BSD-3-Clause
// What PSNs alone tell of real traffic, held against what the captures' READMEs say of it.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "gen/receive/measurement.h"
#include "support/captures.h"

namespace lw::gen {
namespace {

struct Sum {
  std::uint64_t frames = 0, lost = 0, duplicated = 0, out_of_order = 0, retransmitted = 0;
  std::uint64_t beyond_window = 0, bad_icrc = 0, sequence_naks = 0, rnr_naks = 0;
  std::int64_t longest_extent = 0;
};

Sum measure(const std::filesystem::path& file) {
  Measurement measurement({.icrc_every = 1});
  for (const auto& frame : test::frames_of(file)) {
    measurement.count_frame(roce::open_envelope(frame.bytes, frame.wire_length), Instant{}, false);
  }
  measurement.finalize();
  Sum sum;
  for (const ReceiveFlow& flow : measurement.flows()) {
    sum.frames += flow.frames;
    sum.lost += flow.order.lost;
    sum.duplicated += flow.order.duplicated;
    sum.out_of_order += flow.order.out_of_order;
    sum.retransmitted += flow.order.retransmitted;
    sum.beyond_window += flow.order.beyond_window;
    sum.sequence_naks += flow.sequence_naks;
    sum.rnr_naks += flow.rnr_naks;
    if (!flow.order.extents) continue;
    sum.longest_extent = std::max(sum.longest_extent, flow.order.extents->maximum());
  }
  sum.bad_icrc = measurement.totals().bad_icrc;
  return sum;
}

bool lost_or_disturbed(const std::string& name) {
  return name.starts_with("loss_") || name.starts_with("netem_") || name.starts_with("rnr_");
}

void expect_nothing_wrong(const std::vector<std::filesystem::path>& files) {
  for (const auto& file : files) {
    if (lost_or_disturbed(file.filename().string())) continue;
    const Sum sum = measure(file);
    EXPECT_EQ(sum.lost, 0u) << file;
    EXPECT_EQ(sum.duplicated, 0u) << file;
    EXPECT_EQ(sum.out_of_order, 0u) << file;
    EXPECT_EQ(sum.retransmitted, 0u) << file;
    EXPECT_EQ(sum.beyond_window, 0u) << file;
    EXPECT_EQ(sum.bad_icrc, 0u) << file;
    EXPECT_GT(sum.frames, 0u) << file;
  }
}

TEST(MeasureCaptures, LossFreeOnesAreInOrder) {
  expect_nothing_wrong(test::own_captures());
  expect_nothing_wrong(test::further_captures());
}

Sum measure_rxe(const std::string& name) {
  return measure(test::source_root() / "pcaps" / "rxe" / (name + ".pcap"));
}

/// Frames were lost behind the capture point: all PSNs are there, some of them again.
TEST(MeasureCaptures, LossBehindTheCapturePointShowsAsRetransmission) {
  const Sum sum = measure_rxe("loss_write_sender_side");
  EXPECT_EQ(sum.sequence_naks, 4u);
  EXPECT_EQ(sum.lost, 0u);
  EXPECT_EQ(sum.out_of_order, 0u);
  EXPECT_GT(sum.duplicated, 0u);
}

/// Read off tshark's list of the capture: PSNs 11133443, 11133456 and 11133469 are passed over, and
/// come when the READ is asked again from there; four more of every 13th were copies themselves.
TEST(MeasureCaptures, LossBeforeTheCapturePointShowsAsGaps) {
  const Sum sum = measure_rxe("loss_read_requester_side");
  EXPECT_EQ(sum.lost, 3u);
  EXPECT_EQ(sum.retransmitted, 3u);
  EXPECT_EQ(sum.out_of_order, 0u);
}

/// PSN 6078401 arrives behind 17 later ones; then the sender goes back and sends all 32 again.
TEST(MeasureCaptures, ReorderingIsNoLoss) {
  const Sum sum = measure_rxe("netem_reorder");
  EXPECT_EQ(sum.out_of_order, 1u);
  EXPECT_EQ(sum.longest_extent, 17);
  EXPECT_EQ(sum.lost, 0u);
  EXPECT_EQ(sum.retransmitted, 0u);
  EXPECT_EQ(sum.duplicated, 32u);
}

TEST(MeasureCaptures, AReceiverThatIsNotReadyIsNoLoss) {
  const Sum sum = measure_rxe("rnr_nak");
  EXPECT_GT(sum.rnr_naks, 0u);
  EXPECT_EQ(sum.lost, 0u);
  EXPECT_EQ(sum.out_of_order, 0u);
}

}  // namespace
}  // namespace lw::gen
