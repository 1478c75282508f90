// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "gen/report/progress_display.h"
#include "gen/search/rate_search.h"

namespace lw::gen {

/// The live view of a search: the trial that runs, the bounds of each size, and the last trials.
class SearchView {
 public:
  /// `sizes`: number of message sizes to search.
  SearchView(std::string title, const SearchConfig& config, std::size_t sizes);

  /// Call it before a trial at `fraction` of the highest rate.
  void begin_trial(std::uint64_t size, double fraction);
  void end_trial(const Trial& trial);

  [[nodiscard]] report::LiveModel model(const ProgressNow& now) const;

 private:
  /// Bounds of one message size.
  struct SizeBounds {
    std::uint64_t size = 0;
    std::optional<Trial> passes, fails;
    std::size_t trials = 0;
  };
  [[nodiscard]] report::LiveSection trial_section(const ProgressNow& now) const;
  [[nodiscard]] report::LiveSection bounds_section() const;
  [[nodiscard]] report::LiveSection results_section() const;

  std::string title_;
  SearchConfig config_;
  std::size_t sizes_, trials_ = 0;
  double fraction_ = 0;                          // of the running trial
  std::vector<SizeBounds> bounds_;               // the last one is of the present search
  std::deque<std::vector<std::string>> newest_;  // rows of the last trials, newest first
};

}  // namespace lw::gen
