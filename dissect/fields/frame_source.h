// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/filter.h"
#include "capture/reader.h"
#include "dissect/fields/capture_time.h"
#include "dissect/fields/record_buffer.h"
#include "dissect/fields/roce_ports.h"
#include "report/live_view.h"
#include "roce/tunnel.h"

namespace lw::dissect {

/// Shows "FILE: 43 %" or "3 files: 43 %" on a terminal while captures are read. Shows nothing
/// elsewhere, and nothing for captures that take less than a second.
class Progress {
 public:
  explicit Progress(const std::vector<std::string>& files);

  /// True in one of 16384 calls on a terminal: then call show().
  [[nodiscard]] bool is_due() { return (++calls_ & 16383) == 0 && display_.shows(); }
  /// Shows the progress. `offset`: bytes read so far, of all files.
  void show(std::uint64_t offset);

 private:
  std::string name_;
  report::LiveView display_;
  std::uint64_t size_ = 0;  // bytes; 0: unknown
  std::uint64_t calls_ = 0;
};

/// A frame of a capture and its layers. If tunnels carry it, the envelope is that of the inner
/// frame. Valid until the next FrameSource::next().
struct CapturedFrame {
  std::uint64_t number = 0;  // from 1, as Wireshark counts; filters leave gaps
  capture::Record record;    // its interface is an index into FrameSource::interfaces()
  roce::Envelope envelope;   // empty if the link type is unsupported
  std::uint32_t file = 0;    // index of its place, from 0; record.offset is in this file
  std::string_view interface_name = {};        // empty where it has none
  const roce::TunnelStack* tunnels = nullptr;  // around the envelope, or not opened; null: none
};

/// A source of frames: a file, and the names or numbers (from 0) of its interfaces; none: all.
struct CapturePlace {
  std::string file;
  std::vector<std::string> interfaces;
};

/// Parses "FILE" or "FILE@INTERFACE[,INTERFACE]...". FILE is "-" or an existing file. Any other
/// text is a file name as it stands, and so is the name of an existing file that contains an @.
CapturePlace place_of(const std::string& text);

/// Options of a FrameSource.
struct FrameReading {
  /// Not null: waits at the end of a file, as it may grow, until this becomes true.
  const std::atomic<bool>* follow_until = nullptr;
  bool tunnels = true;                         // opens tunnels: frames are the inner ones
  std::vector<std::uint16_t> roce_ports = {};  // UDP ports that carry RoCEv2, beside 4791
  capture::FilterNames filter_names = capture::FilterNames::refused;
  TimeWindow window = {};  // frames outside of it are left out, but counted in numbers
};

/// Reads the frames of capture files that pass a filter. The input of all commands. Several files
/// are read as one capture: their frames come in the order of their time stamps, and frames with
/// equal stamps in the order of the places. The frames of one file keep its order. Holds one record
/// per file.
class FrameSource {
 public:
  /// `place` as in place_of(). `filter` has libpcap's syntax; empty: all frames. A bad filter is a
  /// usage error with libpcap's message, and with a hint if it looks like a display filter of
  /// Wireshark.
  static Result<FrameSource> open(const std::string& place, const std::string& filter = {},
                                  const FrameReading& reading = {});
  /// Opens several places, at least one; the same file may be in several of them.
  static Result<FrameSource> open(std::span<const std::string> places,
                                  const std::string& filter = {}, const FrameReading& reading = {});

  /// Returns the next frame that passes; null at the end, when a message on standard error names
  /// the link types that are not supported. The frame is valid until the next call, and only while
  /// the source stays at its place in memory. A file that is damaged, or that lacks an interface of
  /// its place (a usage error), is an error once all files have ended; the messages of several such
  /// files are lines of one error.
  std::expected<const CapturedFrame*, Error> next();

  /// Passes the first frames of each file that pass the filter to `see`, file by file, before
  /// next() returns them; they have no number. Call it at most once, before next(). Reads
  /// kPreviewed frames of a file, of a single one kPreviewedAlone, or kPreviewedAloneBytes; of up
  /// to kPreviewedTogether files, those of each since the last one of them has begun. Holds at most
  /// kMostPreviewedBytes and the records that reach it.
  void preview(const std::function<void(const CapturedFrame&)>& see);
  static constexpr std::size_t kPreviewed = 4096, kMostPreviewed = 65'536;  // frames of a file
  static constexpr std::size_t kPreviewedAlone = 1024, kPreviewedAloneBytes = std::size_t{1} << 20;
  static constexpr std::size_t kPreviewedTogether = 8;  // files
  static constexpr std::size_t kMostPreviewedBytes = std::size_t{64} << 20;

  /// The stamp of the first frame of all files, whatever is read of them; nothing before preview()
  /// and next().
  [[nodiscard]] std::optional<Instant> begin() const noexcept { return begin_; }
  /// Number of frames so far with an unsupported link type, by link type.
  [[nodiscard]] const std::map<int, std::uint64_t>& unopened() const noexcept { return unopened_; }
  /// Frames that the capturing lost on the wanted interfaces, as the files say so far.
  [[nodiscard]] std::uint64_t dropped() const noexcept;
  /// The interfaces of all files so far. With a single file, the index is its interface number.
  [[nodiscard]] const std::vector<capture::Interface>& interfaces() const noexcept {
    return interfaces_;
  }
  /// The file of an interface, as its place names it.
  [[nodiscard]] const std::string& file_of(std::uint32_t interface) const noexcept {
    return inputs_[files_[interface]].place.file;
  }
  /// The index of the place of an interface, from 0.
  [[nodiscard]] std::uint32_t place_index_of(std::uint32_t interface) const noexcept {
    return files_[interface];
  }

 private:
  /// A file, and its next record.
  struct Input {
    capture::Reader reader;
    CapturePlace place;
    std::vector<std::uint32_t> interfaces = {};  // index into interfaces_ of each of the reader's
    capture::Record head = {};
    RecordBuffer previewed = {};
    std::optional<std::expected<bool, Error>> end = {};  // what ended the preview
    bool ahead = false;  // `previewed` and `end` come before the reader's records
  };
  /// An input, and the time of its head.
  struct Waiting {
    Instant stamp;
    std::uint32_t input;
    /// std::push_heap() keeps the largest in front: here the earliest.
    friend bool operator<(const Waiting& a, const Waiting& b) noexcept {
      return a.stamp != b.stamp ? a.stamp > b.stamp : a.input > b.input;
    }
  };

  FrameSource(std::vector<Input> inputs, std::string filter, const FrameReading& reading);
  /// Reads the next record of all files into frame_.record; false at the end.
  bool next_record();
  bool next_of_several();
  /// Reads records of an input ahead, until `enough()` or its end.
  void read_ahead(std::uint32_t input, const std::function<bool()>& enough);
  void read_heads();
  /// Takes the first record that was previewed; false at the end of the file, nothing if the reader
  /// has the next one.
  std::optional<bool> take_previewed(Input& input, capture::Record& record);
  bool note_end(const Input& input, const std::expected<bool, Error>& found);
  /// Reads the next record of an input; false at its end.
  bool read(std::uint32_t input, capture::Record& record);
  /// Reads the next head of an input.
  void advance(std::uint32_t input);
  void note_interfaces(Input& input) {
    if (input.interfaces.size() != input.reader.interfaces().size()) add_interfaces(input);
  }
  void add_interfaces(Input& input);
  void add_damage(const Error& error);
  /// The link type of a record's bytes.
  [[nodiscard]] int link_type_of(const capture::Record& record) const noexcept {
    return record.inner_link_type != 0 ? record.inner_link_type
                                       : interfaces_[record.interface].link_type;
  }
  Result<bool> passes(const capture::Record& record, int link_type);
  void open_frame();
  /// Whether frame_ satisfies the condition of the window, which has one.
  [[nodiscard]] bool is_wanted_frame() const;
  void show_progress();
  void report_unopened();

  std::vector<Input> inputs_;
  std::vector<Waiting> waiting_;  // a heap
  std::vector<capture::Interface> interfaces_;
  std::vector<bool> wanted_;          // by interface
  std::vector<std::uint32_t> files_;  // by interface
  CapturedFrame frame_;               // the last one
  roce::TunnelStack tunnels_;
  std::string filter_;
  capture::FilterNames filter_names_;
  RocePorts roce_ports_;
  bool opens_tunnels_;
  TimeWindow window_;
  std::optional<Instant> begin_;
  std::map<int, capture::Filter> filters_;  // by link type
  std::unique_ptr<Progress> progress_;
  std::optional<Error> damage_;
  bool begun_ = false;  // with several inputs: each has read its first head
  bool ended_ = false;
  bool reported_ = false;  // the unsupported link types
  std::uint64_t number_ = 0;
  std::map<int, std::uint64_t> unopened_;
};

/// Returns a hint if `expression` looks like a display filter of Wireshark, otherwise an empty
/// text.
std::string display_filter_hint(const std::string& expression);

}  // namespace lw::dissect
