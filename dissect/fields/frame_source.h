// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/filter.h"
#include "capture/reader.h"
#include "report/live_view.h"
#include "roce/tunnel.h"

namespace lw::dissect {

/// Shows "FILE: 43 %" or "3 files: 43 %" on a terminal while captures are read; nothing elsewhere,
/// and nothing for captures that take less than a second.
class Progress {
 public:
  explicit Progress(const std::vector<std::string>& files);

  /// True in one of 16384 calls where there is a terminal: show() is due.
  [[nodiscard]] bool is_due() { return (++calls_ & 16383) == 0 && display_.shows(); }
  /// `offset` bytes of all files were read.
  void show(std::uint64_t offset);

 private:
  std::string name_;
  report::LiveView display_;
  std::uint64_t size_ = 0;  // bytes; 0: unknown
  std::uint64_t calls_ = 0;
};

/// A frame of a capture and its layers. Where tunnels carry it, the envelope is that of the inner
/// frame. Valid until the next FrameSource::next().
struct CapturedFrame {
  std::uint64_t number = 0;  // from 1, as Wireshark counts; filters leave gaps
  capture::Record record;    // its interface is an index into FrameSource::interfaces()
  roce::Envelope envelope;   // empty where the link type is unsupported
  std::uint32_t file = 0;    // which of the places, from 0; record.offset is in this file
  std::string_view interface_name = {};        // empty where it has none
  const roce::TunnelStack* tunnels = nullptr;  // around the envelope, or not opened; null: none
};

/// Where frames are read from: a file, and of its interfaces those with these names or numbers
/// (from 0); none: all.
struct CapturePlace {
  std::string file;
  std::vector<std::string> interfaces;
};

/// Reads "FILE" or "FILE@INTERFACE[,INTERFACE]...". FILE is "-" or an existing file; any other text
/// is the name of a file as it stands, as is that of an existing file with an @ in its name.
CapturePlace place_of(const std::string& text);

/// How a FrameSource reads.
struct FrameReading {
  /// Not null: the end of a file is waited at, as it may grow, until this becomes true.
  const std::atomic<bool>* follow_until = nullptr;
  bool tunnels = true;  // opened: frames are those within them
};

/// Reads the frames of capture files that pass a filter. The input of all commands. Several files
/// are one capture: their frames come in the order of their time stamps, and of equal stamps in the
/// order of the places. The frames of one file keep its order. One record a file is held.
class FrameSource {
 public:
  /// `place` as in place_of(). `filter` has libpcap's syntax; empty: all frames. A bad one is a
  /// usage error with libpcap's message, and a hint where it looks like a display filter of
  /// Wireshark.
  static Result<FrameSource> open(const std::string& place, const std::string& filter = {},
                                  const FrameReading& reading = {});
  /// Several places, at least one; the same file may be in several of them.
  static Result<FrameSource> open(std::span<const std::string> places,
                                  const std::string& filter = {}, const FrameReading& reading = {});

  /// The next frame that passes, valid until the next call, while the source is not
  /// moved; null at the end. A file that is
  /// damaged, or that has not an interface of its place (a usage error), is an error once all files
  /// have ended; the messages of several such files are lines of one error.
  std::expected<const CapturedFrame*, Error> next();

  /// Number of frames so far whose link type is unsupported, by link type.
  [[nodiscard]] const std::map<int, std::uint64_t>& unopened() const noexcept { return unopened_; }
  /// The interfaces of all files so far. A single file's have its numbers.
  [[nodiscard]] const std::vector<capture::Interface>& interfaces() const noexcept {
    return interfaces_;
  }

 private:
  /// A file, and its next record.
  struct Input {
    capture::Reader reader;
    CapturePlace place;
    std::vector<std::uint32_t> interfaces = {};  // index into interfaces_ of each of the reader's
    capture::Record head = {};
  };
  /// An input whose head comes at this time.
  struct Waiting {
    Instant stamp;
    std::uint32_t input;
    /// std::push_heap() keeps the largest in front: the earliest.
    friend bool operator<(const Waiting& a, const Waiting& b) noexcept {
      return a.stamp != b.stamp ? a.stamp > b.stamp : a.input > b.input;
    }
  };

  FrameSource(std::vector<Input> inputs, std::string filter, bool tunnels);
  /// Reads the next record of all files into frame_.record; false at the end.
  bool next_record();
  bool next_of_several();
  /// Reads the next record of an input; false at its end.
  bool read(std::uint32_t input, capture::Record& record);
  /// Reads the next head of an input.
  void advance(std::uint32_t input);
  void note_interfaces(Input& input);
  void add_damage(const Error& error);
  Result<bool> passes(const capture::Record& record, int link_type);
  void open_frame();
  void show_progress();

  std::vector<Input> inputs_;
  std::vector<Waiting> waiting_;  // a heap
  std::vector<capture::Interface> interfaces_;
  std::vector<bool> wanted_;  // by interface
  CapturedFrame frame_;       // the last one
  roce::TunnelStack tunnels_;
  std::string filter_;
  bool opens_tunnels_;
  std::map<int, capture::Filter> filters_;  // by link type
  std::unique_ptr<Progress> progress_;
  std::optional<Error> damage_;
  bool begun_ = false;  // of several inputs, each has its first head
  bool ended_ = false;
  std::uint64_t number_ = 0;
  std::map<int, std::uint64_t> unopened_;
};

/// A hint for an `expression` that looks like a display filter of Wireshark; else empty.
std::string display_filter_hint(const std::string& expression);

}  // namespace lw::dissect
