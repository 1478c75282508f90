// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/extraction/data_image.h"
#include "analysis/extraction/request_order.h"
#include "analysis/extraction/send_stream.h"
#include "analysis/extraction/transfer.h"
#include "analysis/packet.h"

namespace lw::analysis {

/// A packet of a session, with its data.
struct DataPacket {
  const CapturedPacket& packet;
  std::span<const std::byte> bytes;  // the captured payload, without pad
  /// Atomic request: compare, and swap or add. Its response: the original value.
  std::array<std::uint64_t, 2> operands{};
  std::uint32_t session = 0;
  std::uint8_t direction = 0;        // of the packet
  bool bad = false;                  // the receiver drops it: a bad ICRC
  std::uint32_t mtu = 0;             // of the session; 0: unknown
  std::uint32_t first_psn = 0;       // of a request: the lowest known PSN of its flow
  std::uint32_t point = 0;           // where it was captured
  std::array<std::byte, 16> host{};  // its destination
};

/// Which data to extract.
struct DataChoice {
  bool memory = true, reads = true, sends = true;
  bool bad_icrcs = false;  // also data of packets that their receiver drops
};

/// Puts the data of captured packets where their receivers put it: WRITEs and the results of
/// atomics into memory, the payload of SENDs and of READ responses into streams. If bytes are
/// written several times, the highest PSN counts, as a receiver executes requests in this order;
/// between different connections, the last packet counts. Of equal packets the first counts. Reads
/// no clock, no I/O; one thread.
class Extractor {
 public:
  Extractor(const DataChoice& choice, DataSink& sink) : choice_(choice), images_(sink) {}

  /// Processes the next packet of any session, in the order of the capture.
  void add(const DataPacket& data);
  /// Ends the capture: places what waits.
  void finish();

  [[nodiscard]] const std::deque<DataImage>& images() const noexcept { return images_.all(); }

  /// Data without a place: of the requests of one direction, and of the responses to them.
  struct Leftover {
    std::array<UnplacedPackets, kUnplacedReasons> unplaced{};
    Ranges missing;  // PSNs without wrap-around, of unknown requests
  };
  /// By session and direction; only those with data without a place.
  [[nodiscard]] const std::map<std::pair<std::uint32_t, std::uint8_t>, Leftover>& leftovers()
      const noexcept {
    return leftovers_;
  }

 private:
  /// A packet of a WRITE whose first packet was not seen, or comes later.
  struct Headless {
    CapturedPacket packet;
    Sequence psn = 0;
    std::vector<std::byte> bytes;
  };
  /// The requests of one direction of a session, and the responses to them.
  struct Requests {
    Requests(const Requests&) = delete;
    Requests(Extractor& owner, std::uint32_t of_session, std::uint8_t of_direction)
        : session(of_session),
          direction(of_direction),
          transfers(owner.most_transfers_,
                    [&owner, this](const Transfer& transfer) { owner.report(*this, transfer); }),
          order(owner.waiting_bytes_) {}

    std::uint32_t session;
    std::uint8_t direction;
    std::uint32_t point = 0;
    std::optional<Sequence> newest;  // PSN
    TransferLog transfers;
    RequestOrder order;
    std::deque<Headless> headless;
    std::unique_ptr<SendStream> sends;
    std::uint32_t reads = Transfer::kNoImage;  // image of the READ stream
    /// A READ whose request was not captured: its data, up to its last response.
    std::optional<Transfer> unasked;
  };
  static constexpr std::size_t kMostHeadless = 64;

  Requests& requests_of(std::uint32_t session, std::uint8_t direction);
  [[nodiscard]] static Sequence unwrap(const Requests& requests, std::uint32_t psn) noexcept;
  void unplaced(const Requests& requests, Unplaced reason, const CapturedPacket& packet,
                std::uint64_t bytes);

  void take_request(Requests& requests, const DataPacket& data);
  void take_write(Requests& requests, const DataPacket& data, Sequence psn);
  Transfer* begin_write(Requests& requests, const DataPacket& data, Sequence psn);
  void place_write(Requests& requests, Transfer& transfer, const CapturedPacket& packet,
                   Sequence psn, std::span<const std::byte> bytes);
  void place_headless(Requests& requests, Transfer& transfer);
  void take_atomic(Requests& requests, const DataPacket& data, Sequence psn);
  void take_read(Requests& requests, const DataPacket& data, Sequence psn);
  Transfer& begin_memory(Requests& requests, const DataPacket& data, Transfer transfer);

  void take_in_order(Requests& requests, const DataPacket& data, Sequence psn);
  void append(Requests& requests, const CapturedPacket& packet, Sequence psn, std::uint64_t missing,
              std::span<const std::byte> bytes);
  void take_passed(Requests& requests, const DataPacket& data, Sequence psn);
  void drain(Requests& requests, std::uint64_t missing);
  void pass_gap(Requests& requests);

  void take_response(Requests& requests, const DataPacket& data);
  void take_answer(Requests& requests, const DataPacket& data, Sequence psn);
  void take_unasked(Requests& requests, const DataPacket& data, Sequence psn);
  void begin_unasked(Requests& requests, const DataPacket& data, Sequence psn);
  bool allocate(Requests& requests, Transfer& transfer, std::uint64_t frame);
  [[nodiscard]] std::uint32_t reads_of(Requests& requests);

  void place(Requests& requests, Transfer& transfer, const CapturedPacket& packet,
             std::uint64_t offset, std::span<const std::byte> bytes);
  void report(const Requests& requests, const Transfer& transfer);
  void end_unasked(Requests& requests);

  /// Of all directions together, and of each at most and at least.
  static constexpr std::size_t kAllTransfers = 1 << 18, kMostTransfers = 1024, kLeastTransfers = 16;

  DataChoice choice_;
  DataImages images_;
  std::size_t waiting_bytes_ = 0;
  std::size_t most_transfers_ = kMostTransfers;  // of each direction
  std::map<std::pair<std::uint32_t, std::uint8_t>, Requests> requests_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, Leftover> leftovers_;
};

}  // namespace lw::analysis
