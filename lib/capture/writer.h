// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/file_names.h"
#include "capture/record.h"
#include "core/error.h"
#include "core/output.h"

namespace lw::capture {

/// How a capture is written. Its name says whether it is compressed: see is_packed().
struct Writing {
  Format format = Format::pcap;
  std::vector<Interface> interfaces = {Interface{}};
  OutputFile::Mode mode = OutputFile::Mode::growing;
  Rotation rotation = {};
  std::uint32_t most_bytes = 0;  // of each frame that write() gets; 0: all
  /// pcapng: each file ends with how many frames each interface received and lost.
  bool statistics = false;
};

/// Frames of one interface, over all files.
struct InterfaceCount {
  std::uint64_t written = 0;
  std::uint64_t lost = 0;  // not written because of a failure, or counted by count_dropped()
};

/// Writes a capture in this machine's byte order, in blocks of a megabyte, into one file or, with a
/// rotation, several in turn; each can be read without the others. After a failure frames are lost
/// and counted, and close() returns the error: see OutputFile. One thread.
class Writer {
 public:
  /// "-" is standard output. Errors: a pcap file's interfaces have different link types; a rotation
  /// of standard output; those of OutputFile::open().
  static Result<Writer> create(const std::string& path, Writing writing);
  static Result<Writer> create(const std::string& path, Format format,
                               std::vector<Interface> interfaces = {Interface{}},
                               OutputFile::Mode mode = OutputFile::Mode::growing);
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  /// Without close(), what was written so far goes into the file, and errors are ignored.
  ~Writer();

  /// Writes a frame. `interface` is an index in the interfaces given to create(). If wire_length is
  /// less than bytes.size(), that size is used. pcap ignores interface and comment. Errors: no such
  /// interface; a stamp outside 1970..2106 in a pcap file.
  Result<void> write(Instant stamp, Bytes bytes, std::uint32_t wire_length,
                     std::uint32_t interface = 0, std::string_view comment = {});

  /// A frame's bytes in two parts, as they lie in a ring.
  using Parts = std::array<Bytes, 2>;
  /// The arguments of write().
  struct Frame {
    Instant stamp;
    Parts bytes;
    std::uint32_t wire_length = 0, interface = 0;
    std::string_view comment = {};
  };
  /// Like write(), but does not copy the bytes: they must stay as they are until pass_on() or
  /// flush().
  Result<void> refer(const Frame& frame);

  /// Counts frames of an interface that never came here.
  void count_dropped(std::uint32_t interface, std::uint64_t frames);

  /// Passes on all frames so far: to the operating system, or to the compressor, which may keep
  /// them. Returns false if this write or an earlier one failed.
  bool pass_on();
  /// Passes all frames to the operating system, so that other processes can read them. Returns
  /// false if this write or an earlier one failed.
  bool flush();
  [[nodiscard]] bool failed() const noexcept;
  /// See OutputFile::failure().
  [[nodiscard]] std::string failure() const;

  /// Frames that were passed on or lost.
  [[nodiscard]] InterfaceCount count(std::uint32_t interface) const noexcept;
  /// Files so far, those that were removed included; and the frames of the removed ones.
  [[nodiscard]] std::uint64_t files() const noexcept;
  [[nodiscard]] std::uint64_t frames_removed() const noexcept;

  /// Errors: those of OutputFile::close().
  Result<void> close();

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state) noexcept;
  template <bool kCopies>
  Result<void> add(const Frame& frame);

  std::unique_ptr<State> state_;
};

}  // namespace lw::capture
