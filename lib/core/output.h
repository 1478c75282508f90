// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <vector>

#include "core/error.h"

namespace lw {

/// How an output is spread over several files in turn.
struct Rotation {
  std::uint64_t size = 0;   // most bytes of a file; 0: one file holds everything
  std::uint32_t files = 0;  // the last files that are kept, earlier ones are removed; 0: all
};

/// A file that a program writes, or standard output. Checks every write and the close. After the
/// first failure it writes nothing more, and close() returns the error, so that a run can still
/// print its report. One thread.
class OutputFile {
 public:
  enum class Mode : std::uint8_t {
    /// The file appears when close() has succeeded; until then a former file of that name stays.
    whole,
    /// The file is locked and written in place, so that others can read it as it grows. An existing
    /// file is kept until the first write.
    growing,
    /// Like `growing`, but after the existing contents of the file.
    appended,
  };
  enum class Encoding : std::uint8_t { plain, packed };  // packed: the caller compresses

  /// "-" is standard output. Devices, pipes, and files in folders without write permission are
  /// written in place in every mode. `buffer`: number of bytes collected before a write. Errors:
  /// the name promises compression and `encoding` is plain, or the file is an input of this
  /// process (usage); another process writes the file, or it can't be opened (environment).
  static Result<OutputFile> open(const std::string& path, Mode mode,
                                 std::size_t buffer = std::size_t{1} << 16,
                                 Encoding encoding = Encoding::plain);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  /// Without close(), a growing file is completed and its errors are ignored; a whole file is
  /// dropped.
  ~OutputFile();

  /// Bytes that wait to be written: append a record, then call end_record(). After a failure, a
  /// file written in place is cut after its last whole record.
  [[nodiscard]] std::string& pending() noexcept;
  void end_record();
  void write(std::string_view record) {
    pending().append(record);
    end_record();
  }
  /// Passes all bytes to the operating system. Returns false if this write or an earlier one
  /// failed.
  bool flush();
  /// Writes the pending bytes, and behind them `pieces`, which are not copied and are changed.
  /// `ends`: where each of their records ends, in bytes of the pieces. Returns false if this write
  /// or an earlier one failed.
  bool write_pieces(std::span<iovec> pieces, std::span<const std::size_t> ends);
  /// Reserves blocks on the disk ahead of each write, `step` bytes at once, and gives back at the
  /// end those that were not needed. So a full disk is noticed before a record is cut, and
  /// write_last() has kLastRoom bytes. Does nothing where the file system reserves none.
  void reserve_ahead(std::uint64_t step) noexcept;
  static constexpr std::size_t kLastRoom = 4096;
  /// Writes the last bytes of the file, which are no record: after a failed write behind its last
  /// whole record. Returns false, and leaves the file as it was, if they have no room there.
  bool write_last(std::string_view bytes);

  [[nodiscard]] bool failed() const noexcept;
  /// Returns "FILE: cannot be written: No space left on device"; empty if nothing failed.
  [[nodiscard]] std::string failure() const;
  /// Number of records in the file, and of those that are not because of a failure.
  [[nodiscard]] std::uint64_t records() const noexcept;
  [[nodiscard]] std::uint64_t lost() const noexcept;
  /// Bytes in the file, pending ones included.
  [[nodiscard]] std::uint64_t size() const noexcept;
  /// Errors (environment): the file is incomplete; the message says how much of it is valid. The
  /// message is empty if a reader closed the pipe at standard output, as `| head` does.
  Result<void> close();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state) noexcept;
  friend OutputFile& standard_output();

  std::unique_ptr<State> state_;
};

/// Writes `text` as a whole file. Errors: those of OutputFile.
Result<void> write_file(const std::string& path, std::string_view text);

/// Makes a folder, and those above it; does nothing if it exists. Error (environment): it cannot be
/// made.
Result<void> make_folder(const std::string& path);

/// The program's standard output, for everything except captures and ledgers.
OutputFile& standard_output();
/// Writes to standard output; flushes at once if it is a terminal.
void print_out(std::string_view text);
/// Prints the report of a run: on standard output, or on standard error if standard output is
/// `taken` by a capture or can't be written.
void print_report(std::string_view text, bool taken = false);

/// Keeps the error of an output, if there is one, until the end of the program, so that the report
/// is printed first. Main thread.
void report_at_end(const Result<void>& closed);
/// The errors that are kept so far.
const std::vector<Error>& kept_errors() noexcept;
/// Closes standard output. Returns the errors kept by report_at_end(), in order, and its own.
std::vector<Error> close_outputs();

/// A file of a command, and the option or argument that names it.
struct NamedFile {
  std::string option, path;
  bool packs = false;  // the command compresses it, if its name ends in .zst
};

/// Registers a file that this process reads, so that check_outputs() and OutputFile::open() refuse
/// it as an output. Call it for every file that is read, including files that a profile names.
/// Ignores "-". Any thread.
void note_input(const std::string& path);

/// Checks that no output is also an input or another output of the same command, by path, hard link
/// or symbolic link. Files of note_input() count as inputs, so call this after the profile is read.
/// Ignores "" and "-"; devices and pipes may be shared. Also refuses names that promise
/// compression. Errors: usage.
Result<void> check_outputs(const std::vector<NamedFile>& inputs,
                           const std::vector<NamedFile>& outputs);

}  // namespace lw
