// SPDX-License-Identifier: BSD-3-Clause
#include "app/html_report.h"

#include <utility>

#include "app/invocation.h"
#include "app/machine.h"
#include "config/toml/document.h"

namespace lw::app {
namespace {

/// The values of --set on a command line.
std::vector<std::string> changes_in(const std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--set";
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kOption && i + 1 < words.size()) changes.push_back(words[++i]);
    if (words[i].starts_with("--set=")) changes.push_back(words[i].substr(kOption.size() + 1));
  }
  return changes;
}

}  // namespace

void HtmlReport::add_option(Options& list) {
  list.add("--html", {.read = [this](std::string_view text) -> Parsed<void> {
             if (text.empty() || text == "-")
               return std::unexpected("expected the name of a file, found \"" + std::string(text) +
                                      "\"");
             path_ = text;
             at_end([this](ExitCode code) { return write(code); });
             return {};
           }},
           "FILE",
           "web page of the run: verdict, requested and measured values, plots, accounting, "
           "profile, machine, versions");
}

void HtmlReport::add_report(const std::string& line, const JsonOutput& output,
                            const Verdict& verdict, report::RunRows rows) {
  if (wanted())
    page_.reports.push_back({report::Json::parse(line), &output, std::move(rows), verdict});
}

void HtmlReport::add_plot(report::Plot plot) {
  if (wanted() && !plot.curves.empty()) page_.plots.push_back(std::move(plot));
}

void HtmlReport::add_drawing(std::string title, std::string svg) {
  if (wanted()) page_.drawings.emplace_back(std::move(title), std::move(svg));
}

void HtmlReport::add_fact(std::string name, std::string text) {
  page_.machine.emplace_back(std::move(name), std::move(text));
}

void HtmlReport::add_port(const std::string& name, const std::string& port) {
  if (wanted() && !port.empty()) add_fact("Port (" + name + ")", port_fact(port));
}

Result<void> HtmlReport::write(ExitCode code) {
  if (page_.reports.empty()) return {};
  const Invocation& invocation = this_invocation();
  page_.command = invocation.command;
  page_.command_line = invocation.text();
  page_.exit = code;
  page_.errors = invocation.errors;
  page_.changes = changes_in(invocation.words);
  page_.profiles = config::profile_texts();
  auto known = machine_lines();
  page_.machine.insert(page_.machine.begin(), known.begin(), known.end());
  page_.versions = {{"Program", invocation.program + " " + std::string(program_version())}};
  if (!invocation.build.commit.empty())
    page_.versions.emplace_back("Commit", invocation.build.commit + " of " + invocation.build.date);
  if (!invocation.build.libraries.empty())
    page_.versions.emplace_back("Built with", invocation.build.libraries);
  return write_file(path_, report::html_text(page_));
}

}  // namespace lw::app
