// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace lw {

/// A file that a program writes, or standard output. Every write and the close are checked. After
/// the first failure nothing more is written, and close() reports it: a run goes on to its report.
/// One thread.
class OutputFile {
 public:
  enum class Mode : std::uint8_t {
    /// The file appears when close() has succeeded; until then a former file of that name stays.
    whole,
    /// The file is locked and written in place, so that others can read what is there. A former
    /// file stays until the first write.
    growing,
    /// Like `growing`, but behind what a former file has.
    appended,
  };

  /// "-" is standard output. Devices, pipes and files in folders that can't be written to are
  /// written in place in both modes. `buffer`: bytes that are collected for one write. Errors: a
  /// name that promises compression, or an input of this process (usage); another process writes
  /// the file, or it can't be opened (environment).
  static Result<OutputFile> open(const std::string& path, Mode mode,
                                 std::size_t buffer = std::size_t{1} << 16);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  /// Without close(): a growing file is completed, and its errors are ignored; a whole one is
  /// dropped.
  ~OutputFile();

  /// Bytes that wait to be written: append a record, then call end_record(). After a failure a file
  /// written in place is cut to its last whole record.
  [[nodiscard]] std::string& pending() noexcept;
  void end_record();
  void write(std::string_view record) {
    pending().append(record);
    end_record();
  }
  /// Passes everything to the operating system. False: this write or an earlier one failed.
  bool flush();

  [[nodiscard]] bool failed() const noexcept;
  /// "FILE: cannot be written: No space left on device"; empty where nothing failed.
  [[nodiscard]] std::string failure() const;
  /// Records that came after the failure, or were cut off by it.
  [[nodiscard]] std::uint64_t lost() const noexcept;
  /// Errors (environment): not everything is in the file; the message says how much of it is valid.
  /// It is empty when a reader closed the pipe at standard output: `| head` needs no
  /// message.
  Result<void> close();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state) noexcept;
  friend OutputFile& standard_output();

  std::unique_ptr<State> state_;
};

/// Writes a text as a whole file. Errors: as OutputFile.
Result<void> write_file(const std::string& path, std::string_view text);

/// The program's standard output, for all that is not a capture or a ledger.
OutputFile& standard_output();
/// Writes to standard output; at once where it is a terminal.
void print_out(std::string_view text);
/// Prints the report of a run: on standard output, or on standard error where standard output is
/// `taken` by a capture or can't be written.
void print_report(std::string_view text, bool taken = false);

/// Keeps the error of an output for the end of the program, if there is one: the run goes on, and
/// its report comes first. Main thread.
void report_at_end(const Result<void>& closed);
/// Closes standard output. Returns its error and those of report_at_end(), in their order.
std::vector<Error> close_outputs();

/// A file of a command, and the option or argument that names it.
struct NamedFile {
  std::string option, path;
};

/// Remembers a file that this process reads: check_outputs() and OutputFile::open() refuse it as an
/// output. Whatever reads a file calls it, also for files that a profile names. Skips "-". Any
/// thread.
void note_input(const std::string& path);

/// Checks that no output is an input or another output of the same command: by the same path, a
/// hard link or a symbolic link. Inputs are also the files of note_input(), so call this after the
/// profile is read. Skips "" and "-"; devices and pipes may be shared. Also refuses names that
/// promise compression. Errors: usage.
Result<void> check_outputs(const std::vector<NamedFile>& inputs,
                           const std::vector<NamedFile>& outputs);

}  // namespace lw
