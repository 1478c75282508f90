// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "core/figure.h"
#include "report/json_line.h"

namespace lw::report {

/// Formats structs of one table as lines, as RowFormat does with json_of(). Numbers and texts need
/// no Json object: a line takes about a fifth of the time. Each row of the table has a name of its
/// own, and no old one.
class FigureRows {
 public:
  FigureRows(RowStyle style, const JsonOutput& output);

  /// Appends one line, or two for the first row of CSV. T is the struct of the output's table.
  template <class T>
  void append(std::string& out, const T& object) {
    append_row(out, &object);
  }

 private:
  void append_row(std::string& out, const void* object);
  void append_json(std::string& out, const void* object);
  void append_csv(std::string& out, const void* object);

  RowStyle style_;
  const FigureTable& table_;
  std::vector<std::string> json_keys_;  // by row: with comma and colon
  std::string json_begin_;              // the first keys of each line of JSON
  std::string csv_header_;              // until it is written
  std::string cell_;
};

}  // namespace lw::report
