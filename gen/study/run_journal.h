// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/output.h"
#include "gen/study/results.h"

namespace lw::gen::experiment {

/// What two sessions must have in common so that their results belong together: version and build
/// of the program, seed, cells, and the contents of the path profiles that the cells name.
report::Json identity_of(const Results& results);

/// The first entry in which two identities differ: "version: 0.1.0, here 0.2.0"; empty: none.
std::string difference(const report::Json& theirs, const report::Json& ours);

/// The finished runs of an experiment, in a file that grows while it runs, so that another session
/// can continue: a line of JSON with the identity, then a line per run, in the order in which they
/// finished. Each line is in the file when add() returns. One thread.
class RunJournal {
 public:
  /// A new file, which replaces a former one. Errors: as OutputFile.
  static Result<RunJournal> create(const std::string& path, const report::Json& identity);
  /// Reads the runs of another session into `results`, to add more; a last line that was cut off is
  /// dropped. Errors: the file is missing, is of another experiment or another program (usage); as
  /// OutputFile.
  static Result<RunJournal> resume(const std::string& path, const report::Json& identity,
                                   Results& results);

  /// Adds a task's result. What fails is an error of close().
  void add(const Results& results, const Task& task);
  /// Puts the runs in the order of their cells: equal results are equal bytes. Errors: as
  /// OutputFile; what was written before is still there.
  Result<void> close(const Results& results);

 private:
  RunJournal(std::string path, report::Json identity, OutputFile file)
      : path_(std::move(path)), identity_(std::move(identity)), file_(std::move(file)) {}

  std::string path_;
  report::Json identity_;
  OutputFile file_;
};

}  // namespace lw::gen::experiment
