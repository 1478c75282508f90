// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/setup/setup_note.h"

namespace lw::analysis {

/// How a set-up ended.
enum class SetupEnd : std::uint8_t {
  before,       // it was over before the capture began: only its connection's end was captured
  open,         // the capture ended before an answer was due
  unanswered,   // nobody answered the request
  rejected,     // REJ, or SIDR_REP with a status
  unconfirmed,  // REP, and neither RTU nor a packet of the connection
  done,         // REP and RTU, or packets of the connection; SIDR_REP with a QP
};
std::string_view name_of(SetupEnd end) noexcept;  // "unanswered"

/// What two connection managers agreed about one connection (or, by SIDR, about one datagram
/// service): who asked whom, and which messages passed. (IBTA vol. 1, 12.9)
struct ConnectionSetup {
  enum class Step : std::uint8_t { req, mra, rep, rtu, rej, dreq, drep };
  static constexpr std::size_t kSteps = 7;
  /// Messages of one kind from one side. Each may come again.
  struct Messages {
    std::uint32_t count = 0;
    std::uint64_t first_frame = 0, last_frame = 0;
    Instant first = {}, last = {};
  };
  static constexpr std::uint8_t kRequester = 0, kReplier = 1;

  std::uint32_t number = 0;  // from 1, in order of appearance
  std::uint32_t point = 0;
  HostAddress requester{}, replier{};
  bool of_service = false;  // SIDR
  std::optional<CmNote> request = {}, reply = {}, reject = {};
  std::optional<std::uint32_t> requester_qp = {}, replier_qp = {};
  std::uint32_t session = 0;     // number of its connection; 0: no packet of it was captured
  bool has_traffic = false;      // packets of the connection followed
  bool asked_enough = false;     // the request had time to be answered
  std::uint64_t refused_by = 0;  // first frame of an ICMP message about one of its messages
  std::array<std::array<Messages, kSteps>, 2> messages{};  // by side

  [[nodiscard]] const Messages& of(std::uint8_t side, Step step) const noexcept {
    return messages[side][static_cast<std::size_t>(step)];
  }
  [[nodiscard]] Messages& of(std::uint8_t side, Step step) noexcept {
    return messages[side][static_cast<std::size_t>(step)];
  }
  [[nodiscard]] const Messages& requests() const noexcept { return of(kRequester, Step::req); }
  /// Those that ended it, of the side that ended it first.
  [[nodiscard]] const Messages& rejects() const noexcept;
  /// The side that asked first to disconnect; nothing: neither.
  [[nodiscard]] std::optional<std::uint8_t> disconnected_by() const noexcept;
  /// Whether a DREQ came again and again, and no DREP.
  [[nodiscard]] bool is_disconnect_unanswered() const noexcept;
  /// Whether the requester has given up by a REJ, before any answer.
  [[nodiscard]] bool is_withdrawn() const noexcept;
  [[nodiscard]] SetupEnd end() const noexcept;
  /// From the first REQ to the RTU, or to the REP where that is missing; nothing: not captured.
  [[nodiscard]] std::optional<Duration> duration() const noexcept;
  /// The first and last frame of all messages.
  [[nodiscard]] std::uint64_t first_frame() const noexcept;
  [[nodiscard]] Instant first() const noexcept;
};

/// The reason of a REJ in the specification's words, "reason 8, Invalid Service ID"; of a SIDR_REP
/// "status 1, Service ID not supported"; empty: it was not refused.
std::string reject_text(const ConnectionSetup& setup);

}  // namespace lw::analysis
