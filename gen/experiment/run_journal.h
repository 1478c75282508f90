// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/output.h"
#include "gen/experiment/results.h"

namespace lw::gen::experiment {

/// Returns what must be equal in two sessions so that their results can be combined: version and
/// build of the program, seed, cells, and the contents of the profiles (paths, networks, NICs,
/// DCQCN) that the cells name.
report::Json identity_of(const ExperimentResults& results);

/// Returns the first difference of two identities: "version: 0.1.0, here 0.2.0"; empty if they are
/// equal.
std::string difference(const report::Json& theirs, const report::Json& ours);

/// A file with the finished runs of an experiment, which grows during the experiment, so that
/// another session can continue it: a line of JSON with the identity, then a line per run, in the
/// order in which they finished. Each line is in the file when add() returns. One thread.
class RunJournal {
 public:
  /// Creates a new file, which replaces an existing one. Errors: those of OutputFile.
  static Result<RunJournal> create(const std::string& path, const report::Json& identity);
  /// Reads the runs of another session into `results`, and opens the file to add more. Drops an
  /// incomplete last line. Errors: the file is missing, or belongs to another experiment or program
  /// (usage); those of OutputFile.
  static Result<RunJournal> resume(const std::string& path, const report::Json& identity,
                                   ExperimentResults& results);

  /// Adds a task's result. An error is reported by close().
  void add(const ExperimentResults& results, const Task& task);
  /// Sorts the runs in the order of the cells, so that equal results give equal files. Errors:
  /// those of OutputFile; the lines written before are kept.
  Result<void> close(const ExperimentResults& results);

 private:
  RunJournal(std::string path, report::Json identity, OutputFile file)
      : path_(std::move(path)), identity_(std::move(identity)), file_(std::move(file)) {}

  std::string path_;
  report::Json identity_;
  OutputFile file_;
};

}  // namespace lw::gen::experiment
