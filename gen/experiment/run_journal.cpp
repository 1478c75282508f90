// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/run_journal.h"

#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "app/command_line.h"
#include "config/toml/document.h"
#include "config/toml/profile_search.h"
#include "core/chance.h"
#include "core/json.h"

namespace lw::gen::experiment {
namespace {

using report::Json;

std::string hex_of(const std::string& text) { return fmt::format("{:016x}", hash_name(text)); }

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(path + ": can't be read");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Identifies the program by its own bytes, because its version does not change with its sources.
std::string build_of_program() {
  return hex_of(read_file("/proc/self/exe").value_or(std::string()));
}

std::string cells_text(const ExperimentResults& results) {
  std::string text;
  for (const Cell& cell : results.cells) {
    const auto& scenario = results.profile.scenarios[cell.scenario];
    text += fmt::format("{}\n{}\n{}\n", scenario.name, scenario.run, cell.repeats);
    for (const auto& [name, value] : cell.point) text += fmt::format("{}={}\n", name, value);
  }
  return text;
}

/// A parameter that names a profile, of one kind or of two.
struct ProfileParameter {
  std::string_view name, kind, other_kind;
};
constexpr ProfileParameter kProfileParameters[] = {
    {"path", config::kPathProfiles, config::kImpairProfiles},
    {"network", config::kNetworkProfiles, config::kNetworkProfiles},
    {"nic", config::kNicProfiles, config::kNicProfiles},
    {"cc", config::kCongestionProfiles, config::kCongestionProfiles}};

/// Returns the contents of the profiles that a parameter of the cells names. A file that can't be
/// read is reported elsewhere.
std::string profiles_text(const ExperimentResults& results, const ProfileParameter& parameter) {
  std::set<std::string> files;
  for (const Cell& cell : results.cells)
    if (const std::string* file = cell.find(parameter.name)) files.insert(*file);
  std::string text;
  for (const std::string& file : files) {
    const auto found = config::find_profile(file, {parameter.kind, parameter.other_kind});
    if (!found) continue;
    note_input(*found);
    text += read_file(*found).value_or(std::string());
  }
  return text;
}

std::string profiles_text(const ExperimentResults& results) {
  std::string text;
  for (const ProfileParameter& parameter : kProfileParameters)
    text += profiles_text(results, parameter);
  return text;
}

std::string run_line(const ExperimentResults& results, const Task& task) {
  return report::json_line({{"cell", task.cell + 1},
                            {"repeat", task.repeat + 1},
                            {"seed", results.seed_of(task)},
                            {"run", results.runs[task.cell][task.repeat]}});
}

/// Returns the whole file, in the order of the cells.
std::string journal_text(const Json& identity, const ExperimentResults& results) {
  std::string text = report::json_line(identity);
  for (const Task& task : tasks_of(results.cells))
    if (results.has(task)) text += run_line(results, task);
  return text;
}

bool take_line(const std::string& line, ExperimentResults& results) {
  const Json json = parse_json(line);
  if (!json.is_object()) return false;
  const auto cell = json.find("cell"), repeat = json.find("repeat"), run = json.find("run");
  for (const auto& number : {cell, repeat})
    if (number == json.end() || !number->is_number_unsigned()) return false;
  if (run == json.end() || !run->is_object()) return false;
  const auto i = cell->get<std::size_t>() - 1, k = repeat->get<std::size_t>() - 1;
  if (i >= results.cells.size() || k >= results.cells[i].repeats) return false;
  results.runs[i][k] = *run;
  return true;
}

Result<void> take_lines(const std::string& path, const std::string& text, const Json& identity,
                        ExperimentResults& results) {
  std::size_t number = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    if (++number > 1) {
      if (!take_line(line, results))
        return fail(fmt::format("{}:{}: expected a run of this experiment: start without --resume",
                                path, number));
      continue;
    }
    const Json theirs = parse_json(line);
    if (const std::string what = difference(theirs, identity); !what.empty())
      return fail(fmt::format(
          "{}: --resume: its runs are of another experiment or program ({}): give the same file "
          "and options, or start without --resume",
          path, what));
  }
  if (number == 0) return fail(path + ": --resume: expected runs, found none");
  return {};
}

}  // namespace

Json identity_of(const ExperimentResults& results) {
  return {{"experiment", results.profile.name},
          {"version", app::program_version()},
          {"build", build_of_program()},
          {"seed", results.profile.seed},
          {"runs", tasks_of(results.cells).size()},
          {"cells", hex_of(cells_text(results))},
          {"paths", hex_of(profiles_text(results))}};
}

std::string difference(const Json& theirs, const Json& ours) {
  if (!theirs.is_object()) return "its first line is no JSON object";
  for (const auto& [name, value] : ours.items()) {
    const auto other = theirs.find(name);
    if (other == theirs.end()) return fmt::format("no \"{}\"", name);
    if (*other != value) return fmt::format("{}: {}, here {}", name, other->dump(), value.dump());
  }
  return "";
}

Result<RunJournal> RunJournal::create(const std::string& path, const Json& identity) {
  auto file = OutputFile::open(path, OutputFile::Mode::growing);
  if (!file) return std::unexpected(file.error());
  file->write(report::json_line(identity));
  file->flush();
  return RunJournal(path, identity, std::move(*file));
}

Result<RunJournal> RunJournal::resume(const std::string& path, const Json& identity,
                                      ExperimentResults& results) {
  const auto text = read_file(path);
  if (!text)
    return fail(path +
                ": --resume: expected the runs of an interrupted experiment, found no file: "
                "start without --resume");
  if (auto taken = take_lines(path, *text, identity, results); !taken)
    return std::unexpected(taken.error());
  // Rewrite the file without an incomplete last line, before further lines are appended.
  if (auto wrote = write_file(path, journal_text(identity, results)); !wrote)
    return std::unexpected(wrote.error());
  auto file = OutputFile::open(path, OutputFile::Mode::appended);
  if (!file) return std::unexpected(file.error());
  return RunJournal(path, identity, std::move(*file));
}

void RunJournal::add(const ExperimentResults& results, const Task& task) {
  file_.write(run_line(results, task));
  file_.flush();
}

Result<void> RunJournal::close(const ExperimentResults& results) {
  if (auto closed = file_.close(); !closed) return closed;
  return write_file(path_, journal_text(identity_, results));
}

}  // namespace lw::gen::experiment
