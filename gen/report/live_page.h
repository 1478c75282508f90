// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "core/time.h"
#include "core/verdict.h"
#include "web/site.h"

namespace lw::gen {

struct FlowProgress;
class Measurement;

/// The table of the state that the page gets.
const FigureTable& live_figures();
inline constexpr JsonOutput kLiveOutput{.name = "live",
                                        .title = "roce-gen run --web, receive --web",
                                        .figures = &live_figures,
                                        .version = 2};

/// Texts of the live page about a run.
struct LiveSubject {
  std::string command, title;                              // "run"; the profile's name, or empty
  std::vector<std::string> send, receive;                  // ports
  std::vector<std::pair<std::string, std::string>> asked;  // flow name, rate in the profile
};

/// The live page of a run (--web). The run's loop passes figures to it. The threads of the page's
/// server convert them to JSON; the loop never waits for these threads.
class LivePage {
 public:
  static constexpr Duration kInterval = std::chrono::milliseconds(500);

  /// Serves the page. Errors: those of web::open_site().
  static Result<LivePage> open(const web::SiteOptions& options, const LiveSubject& subject);
  LivePage(LivePage&& other) noexcept;
  ~LivePage();

  [[nodiscard]] const std::string& url() const noexcept;

  /// Called by the loop: passes its figures at `elapsed`. `left`: time until the run ends, if
  /// known. `received` may be null; its latencies must be counted. Figures may be skipped while a
  /// thread of the server takes the previous ones.
  void show(Duration elapsed, std::optional<Duration> left, const std::vector<FlowProgress>& flows,
            const Measurement* received, const Verdict& verdict);
  /// Passes the final figures. Waits up to 500 ms until open pages have them.
  void finish(Duration elapsed, const std::vector<FlowProgress>& flows, const Measurement* received,
              const Verdict& verdict);

 private:
  class Feed;
  explicit LivePage(std::unique_ptr<Feed> feed);

  std::unique_ptr<Feed> feed_;
};

}  // namespace lw::gen
