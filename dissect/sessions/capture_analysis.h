// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analyst.h"
#include "dissect/fields/frame_source.h"
#include "dissect/points/capture_points.h"

namespace lw::dissect {

/// Results of the analysis of a capture, for reports that need all of them.
class CollectedResults final : public analysis::Results {
 public:
  /// Gets each message. Null: messages are not needed.
  std::function<void(const analysis::Message&)> on_message;

  void found(const analysis::Anomaly& anomaly) override { anomalies_.push_back(anomaly); }
  void beyond(std::uint64_t anomalies) override { beyond_ = anomalies; }
  void completed(const analysis::Message& message) override {
    if (on_message) on_message(message);
  }
  /// The anomalies in the order of their frames. Call it once, after the analysis.
  std::vector<analysis::Anomaly>& in_order();
  /// Takes these, which are in order, in place of those that were found.
  void replace(std::vector<analysis::Anomaly> anomalies) {
    anomalies_ = std::move(anomalies);
    is_ordered_ = true;
  }
  /// Number of anomalies that were not kept.
  [[nodiscard]] std::uint64_t beyond() const noexcept { return beyond_; }

 private:
  std::vector<analysis::Anomaly> anomalies_;
  bool is_ordered_ = false;
  std::uint64_t beyond_ = 0;
};

/// How much of a capture's RoCE traffic an analysis follows.
enum class Followed : std::uint8_t { all, part, nothing };

/// Totals of a capture, over frames of any kind.
struct CaptureTotals {
  std::uint64_t frames = 0, roce = 0;
  std::uint64_t cut = 0;                               // RoCE frames with a cut end
  std::map<int, std::uint64_t> unopened = {};          // frames by unsupported link type
  std::map<std::string, std::uint64_t> tunnels = {};   // by tunnel that cannot be opened
  std::map<std::uint8_t, std::uint64_t> opcodes = {};  // RoCE frames by unknown opcode
  std::map<std::uint32_t, std::uint64_t> others = {};  // frames without RoCE, by other_protocol()
  std::uint64_t dropped = 0;        // frames that the capturing lost, as the files say
  std::uint64_t backwards = 0;      // RoCE frames with an earlier stamp than the one before
  std::uint64_t fragments = 0;      // RoCE frames that are the first of several IP fragments
  std::uint64_t further_views = 0;  // RoCE frames that were captured before: not analysed
  /// RoCE frames by the priority of their tag, and of untagged frames by the upper three bits of
  /// their DSCP, which many switches take for their priority.
  std::array<std::uint64_t, wire::kPriorities> tagged = {}, untagged = {};
  std::uint64_t ecn_capable = 0;  // RoCE frames that a queue may mark or has marked
  Instant first, last, newest;  // stamps of RoCE frames: the earliest, the latest, of the last one

  [[nodiscard]] Followed followed() const;
};

/// The ethertype of a frame without RoCE, and the protocol of an IP packet: ethertype << 8 |
/// protocol.
std::uint32_t other_protocol(const roce::Envelope& envelope) noexcept;
/// "TCP", "ARP", "UDP", "ethertype 0x88cc".
std::string other_protocol_name(std::uint32_t protocol);

/// Called with a frame of a capture before the analysis gets it.
using EachFrame = std::function<void(const CapturedFrame&, const roce::Frame&)>;

/// Called with the opcode of a frame, if it is known, and its payload as far as captured, before
/// the analysis gets the frame. Takes less time than EachFrame, as most frames are not parsed.
using EachPayload =
    std::function<void(const CapturedFrame&, const wire::OpcodeInfo&, wire::Bytes payload)>;

/// Passes all RoCE frames of `source` to `analyst`, in the order of `points`, with the numbers of
/// their capture points, which were decided from this source, and ends the analysis. Further views
/// of a frame are left out. Prints a message on standard error if there were too many connections
/// to follow. With two or more `jobs` a second thread reads the frames, and this one follows them,
/// with the same results. Returns the damage that ended a file, if any: the frames before it count.
/// `totals` may be null. `each` and `payloads`, if any, get all RoCE frames; one thread then does
/// all the work, in the capture's order.
std::optional<Error> analyse(FrameSource& source, analysis::Analyst& analyst, CapturePoints& points,
                             unsigned jobs, CaptureTotals* totals = nullptr,
                             const EachFrame& each = {}, const EachPayload& payloads = {});

/// Says on standard error what was too much to follow.
void report_unfollowed(const analysis::Analyst& analyst);

/// "10.0.0.1", an IPv6 address, or a GID.
std::string address_text(const std::array<std::byte, 16>& address);
/// The source of a direction's requests, its QP if known, and their destination:
/// "10.0.0.1 QP 0x11", "10.0.0.2 QP 0x12".
struct Ends {
  std::string from, to;
  std::optional<std::uint32_t> from_qp, to_qp;
  std::string from_address, to_address;
};
Ends ends_of(const analysis::Analyst& analyst, const analysis::Session& session,
             std::uint8_t direction);

}  // namespace lw::dissect
