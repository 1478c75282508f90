// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "report/json_line.h"

namespace lw::dissect {

/// What the page of a comparison shows.
struct ComparePage {
  std::vector<std::string> files;  // one, or near and far
  std::string begin;               // the stamp of the first frame; empty: there is none
  std::string line;                // as --json prints it, with the verdict
  std::string text;                // as it is printed without --json
  report::Json pictures = report::Json::array();  // direction_picture() of each direction
};

/// One HTML document without references to other files.
std::string compare_page(const ComparePage& page);

}  // namespace lw::dissect
