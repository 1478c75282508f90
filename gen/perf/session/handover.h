// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "gen/limits.h"
#include "gen/perf/session/qp_class.h"
#include "gen/perf/session/session_params.h"
#include "wire/address.h"

/// The messages that two RDMA peers exchange over TCP before and after a run, one JSON object per
/// line: the client's Hello, the server's Offer or a Refusal, the client's Done and the server's
/// Report. In a run both ways the server sends a Hello of its own after its Offer, and its Done
/// before its Report; the client answers as a server does. handover_link.h has the connection.
/// Every line contains the schema and its version.
namespace lw::gen::handover {

inline constexpr std::uint64_t kVersion = 2;
inline constexpr std::uint16_t kPort = 18515;         // TCP, perftest's
inline constexpr std::size_t kMostBytes = 64 * 1024;  // of a line
using gen::kMostQps;

/// A QP of one side, and its memory for the other side's requests: slot i is at `va` + i x `bytes`.
/// Message n is written to slot n % slots, with the pattern of the client and its QPN; a SEND uses
/// the next receive. A READ of slot i returns message i of the responder's pattern. An atomic has
/// one word, at `va`, initially 0. An echo is written to the client's slot.
struct Qp {
  std::uint32_t qpn = 0;  // 24 bits
  std::uint32_t psn = 0;  // 24 bits, of the first packet that it sends
  std::uint64_t va = 0;   // of slot 0, for WRITEs, READs and atomics
  std::uint32_t r_key = 0;
  friend bool operator==(const Qp&, const Qp&) = default;
  static const FigureTable& figures();
};

/// The client's first line: its identity and the parameters of the run. The rates and the recovery
/// of `params` apply only to the client's side; its va and r_key are those of each QP.
struct Hello {
  std::string token;
  SessionParams params;
  std::uint64_t count = 0;        // messages of each QP; 0: unknown until Done
  Duration duration{}, margin{};  // in a run both ways: of the server's messages, too; 0: none
  bool checked = true;            // the messages have the PayloadPattern, which the server checks
  // the packets have signatures (wire/signature.h), which the server reads instead
  bool signatures = false;
  /// CRC-32 (wire/icrc.h) of the bytes after the signature: in all packets of a message except the
  /// last, and in the last. Empty: the content is unknown.
  std::vector<std::uint64_t> payload_crcs = {};
  std::uint32_t mtu = 1024;                // path MTU in bytes
  std::uint8_t timeout = 18, retries = 6;  // of the server's QPs, as in transport::QpConfig
  std::uint8_t rnr_retries = 6;            // 7: unlimited
  QpClass traffic = {};
  wire::Ipv6Address gid;
  std::vector<Qp> qps;  // 1 to kMostQps
  friend bool operator==(const Hello&, const Hello&) = default;
  static const FigureTable& figures();
};

/// The server's answer: its QPs, in the order of the client's, ready to receive.
struct Offer {
  std::vector<Qp> qps;
  std::uint64_t va = 0, size = 0;  // the whole region, in bytes
  std::uint32_t r_key = 0;
  wire::Ipv6Address gid;
  bool rocev1 = false;              // type of the GID and of the frames: RoCEv1, or RoCEv2
  std::uint32_t mtu = 1024;         // path MTU in bytes: the smaller one of both sides
  std::uint32_t q_key = 0;          // UD
  std::uint32_t max_rd_atomic = 1;  // READs and atomics that the server accepts at once, per QP
  friend bool operator==(const Offer&, const Offer&) = default;
  static const FigureTable& figures();
};

/// The last line of a side that sends: all its requests are completed.
struct Done {
  std::vector<std::uint64_t> messages;       // of each QP
  std::uint64_t bytes = 0;                   // of all
  std::vector<std::uint64_t> signed_frames;  // of each QP; empty: no signatures
  bool stopped = false;                      // a signal ended the run early
  // What a server measured that sends, too; rates in bit/s, 0: not measured.
  std::uint64_t elapsed_ns = 0, average_bps = 0, steady_bps = 0, peak_bps = 0;
  friend bool operator==(const Done&, const Done&) = default;
  static const FigureTable& figures();
};

/// Counters of the arrived messages' packets, by their signatures.
struct SignatureCounts {
  std::uint64_t frames = 0;                        // with a signature
  std::uint64_t unsigned_frames = 0;               // without one
  std::uint64_t lost = 0;                          // missing packets, alone or with their message
  std::uint64_t duplicated = 0, out_of_order = 0;  // as in OrderCounts
  friend bool operator==(const SignatureCounts&, const SignatureCounts&) = default;
  static const FigureTable& figures();
};

/// Meanings of the members of Report, for each output that has them.
namespace meaning {
inline constexpr std::string_view kCounted = "True if the device's side counted the messages.";
inline constexpr std::string_view kMessages = "Messages that arrived.";
inline constexpr std::string_view kBytes = "Bytes of payload that arrived.";
inline constexpr std::string_view kErrors = "Completions with an error.";
inline constexpr std::string_view kFailure = "Why the session failed; empty: it did not.";
inline constexpr std::string_view kSignatures = "What the signatures show.";
inline constexpr std::string_view kCounters = "Changes of the device's counters.";
}  // namespace meaning

/// The server's last line.
struct Report {
  ServerStats stats;
  /// True: `messages` and `bytes` are the server's own count of what arrived. False: they are those
  /// of the client's Done, because a device does not report READs, atomics, and WRITEs without an
  /// immediate to its program.
  bool counted = true;
  std::uint64_t messages = 0, bytes = 0;
  std::uint64_t errors = 0;  // completions in error
  std::string failure;       // the reason, if the session failed
  SignatureCounts signatures;
  // counters of the device: their increase during the session
  std::vector<std::pair<std::string, std::uint64_t>> counters;
  friend bool operator==(const Report&, const Report&) = default;
  static const FigureTable& figures();
};

// Return the message as a line, with a newline.
std::string line_of(const Hello& hello);
std::string line_of(const Offer& offer);
std::string line_of(const Done& done);
std::string line_of(const Report& report);
std::string refusal_line(std::string_view reason);

/// Errors (environment): the frames of this side have another encapsulation than the device's GID.
Result<void> check_encapsulation(const Offer& offer, bool rocev1);

// Read a line. Errors (failed): not JSON, another schema or version, a field that is missing or out
// of range, with what was expected and found; a Refusal, with its reason.
Result<Hello> read_hello(std::string_view line);
Result<Offer> read_offer(std::string_view line);
Result<Done> read_done(std::string_view line);
Result<Report> read_report(std::string_view line);

}  // namespace lw::gen::handover
