// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulator/link.h"
#include "roce/compose.h"

namespace lw::test {

/// Returns a RoCEv2 frame (RC SEND ONLY, `payload` bytes) to this QP with this PSN.
inline std::vector<std::byte> roce_frame(std::uint32_t qp = 0x11, std::uint32_t psn = 0,
                                         std::size_t payload = 64) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x04;
  fields.bth.dest_qp = qp;
  fields.bth.psn = wire::Psn(psn);
  const std::vector<std::byte> data(payload);
  return roce::compose(fields, data);
}

/// Returns a frame of the size of an ARP request that is not RoCE.
inline std::vector<std::byte> other_frame(std::size_t size = 60) {
  std::vector<std::byte> frame(size);
  frame[12] = std::byte{0x08};
  frame[13] = std::byte{0x06};
  return frame;
}

/// Frame access for frames in virtual time. The caller chooses the handles of its frames; copies
/// have handles from kFirstCopy on. All frames share the same bytes: for tests of accounting, not
/// of contents.
class SharedBytes {
 public:
  static constexpr int kFirstCopy = 1'000'000;

  SharedBytes() = default;
  /// At most `room` copies can be inside at the same time.
  SharedBytes(std::vector<std::byte>& bytes, int& room) : bytes_(&bytes), room_(&room) {}

  wire::MutableBytes writable(int /*handle*/) noexcept { return *bytes_; }
  std::optional<int> clone(int /*handle*/) noexcept {
    if (*room_ == 0) return std::nullopt;
    return kFirstCopy + --*room_;
  }
  void free(int /*handle*/) noexcept { ++*room_; }
  static void fetch(int /*handle*/) noexcept {}
  static void fetch_all(int /*handle*/) noexcept {}

 private:
  std::vector<std::byte>* bytes_ = nullptr;
  int* room_ = nullptr;
};

/// A frame that left a link.
struct Exit {
  int handle;
  Instant at;
  friend bool operator==(const Exit&, const Exit&) = default;
};

/// Drives a link in virtual time: each frame leaves exactly at its release time.
template <class Frames = emulator::NoFrameAccess<int>>
class VirtualRun {
 public:
  explicit VirtualRun(emulator::Link<int, Frames>& link) : link_(&link) {}

  bool admit(int handle, std::span<const std::byte> frame, Instant now) {
    advance(now);
    const bool kept = link_->admit(handle, roce::open_envelope(frame), now);
    drain(now);
    return kept;
  }
  void advance(Instant now) {
    while (link_->next_release() <= now) {
      const Instant due = link_->next_release();
      link_->release(due);
      drain(due);
    }
  }
  void finish() { advance(emulator::ReleaseQueue<int>::kNever - Duration{1}); }
  [[nodiscard]] const std::vector<Exit>& exits() const { return exits_; }

 private:
  void drain(Instant now) {
    while (!link_->egress().empty()) {
      const auto out = link_->egress();
      for (const int handle : out) exits_.push_back({handle, now});
      link_->sent(out.size(), now);
    }
  }

  emulator::Link<int, Frames>* link_;
  std::vector<Exit> exits_;
};
template <class Frames>
VirtualRun(emulator::Link<int, Frames>&) -> VirtualRun<Frames>;

/// Keeps all records.
class Recorder : public emulator::LedgerSink {
 public:
  void write(std::span<const emulator::LedgerRecord> records) override {
    records_.insert(records_.end(), records.begin(), records.end());
  }
  [[nodiscard]] const std::vector<emulator::LedgerRecord>& records() const { return records_; }

 private:
  std::vector<emulator::LedgerRecord> records_;
};

}  // namespace lw::test
