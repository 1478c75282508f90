// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/command_line.h"
#include "core/output.h"
#include "core/verdict.h"
#include "report/run_page.h"

namespace lw::app {

/// --html: the web page of a run. A command adds what it reports; the page is written when the
/// command has ended and all other outputs are closed, so that it has the exit code and the errors.
/// Without a report, as after a usage error, nothing is written. Main thread; must outlive the
/// command.
class HtmlReport {
 public:
  HtmlReport() = default;
  HtmlReport(const HtmlReport&) = delete;  // the option's value leads here
  HtmlReport& operator=(const HtmlReport&) = delete;

  /// Adds --html to a command.
  void add_option(Options& list);
  /// The file of --html, for check_outputs().
  [[nodiscard]] NamedFile file() const { return {"--html", path_}; }
  [[nodiscard]] bool wanted() const noexcept { return !path_.empty(); }

  /// A report: a line of JSON as --json prints it. Several, where the command prints several.
  /// `output`: the table of its figures; `verdict`: on this report; `rows`: what else the page
  /// shows of it.
  void add_report(const std::string& line, const JsonOutput& output, const Verdict& verdict,
                  report::RunRows rows = {});
  void add_plot(report::Plot plot);
  /// A picture that is SVG already.
  void add_drawing(std::string title, std::string svg);
  /// A line about the machine: "Idle", "adaptive".
  void add_fact(std::string name, std::string text);
  /// A port that the run used: `name` is "--port". Empty ports are left out.
  void add_port(const std::string& name, const std::string& port);

 private:
  Result<void> write(ExitCode code);

  std::string path_;
  report::RunPage page_;
};

}  // namespace lw::app
