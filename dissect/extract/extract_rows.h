// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/extraction/extractor.h"
#include "dissect/extract/data_files.h"
#include "dissect/points/capture_points.h"
#include "report/json_line.h"

namespace lw::dissect {

/// Result of an extraction: its files, and the bytes that are missing in them.
class ExtractReport {
 public:
  /// All of them outlive this. `points`: the capture points, by number.
  ExtractReport(const analysis::Extractor& extractor, const std::vector<DataFile>& files,
                const std::vector<CapturePointInfo>& points);

  /// Calls `write_row` with a row of kFileOutput for each file.
  void files(const std::function<void(const report::Json&)>& write_row) const;
  /// Calls `write_row` with rows of kRangeOutput: bytes that lie together in a file.
  void ranges(const std::function<void(const report::Json&)>& write_row) const;
  /// Calls `write_row` with rows of kGapOutput: bytes that packets announced, and that were not
  /// captured.
  void gaps(const std::function<void(const report::Json&)>& write_row) const;
  /// Calls `write_row` with rows of kUnplacedOutput: packets without a place, by direction and
  /// reason.
  void unplaced(const std::function<void(const report::Json&)>& write_row) const;
  /// The whole report as text. `folder`: where the files are.
  [[nodiscard]] std::string text(const std::string& folder) const;

 private:
  struct Gap {
    std::uint32_t image = 0;
    const DataFile* file = nullptr;  // null: no file has a byte near it
    analysis::Range range;
  };
  [[nodiscard]] const DataFile* file_at(std::uint32_t image, std::uint64_t position) const;
  [[nodiscard]] std::string files_text(const std::string& folder) const;
  [[nodiscard]] std::string gaps_text() const;
  [[nodiscard]] std::string unplaced_text() const;

  const analysis::Extractor& extractor_;
  const std::vector<DataFile>& files_;
  const std::vector<CapturePointInfo>& points_;
  std::vector<Gap> gaps_;
};

/// A row of the index of messages, kExtractedMessageOutput.
report::Json extracted_message_row(const analysis::DataMessage& message,
                                   const analysis::DataImage& image);

}  // namespace lw::dissect
