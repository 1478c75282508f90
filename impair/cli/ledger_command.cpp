// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/core.h>

#include "impair/cli/command.h"
#include "impair/record/ledger_file.h"

namespace lw::impair {
namespace {

ExitCode print(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // A folder opens, but has nothing to be read.
  if (!file || (file.peek(), file.bad()))
    return print_error({fmt::format("can't read {}: {}", path, std::strerror(errno))});
  file.clear();
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto end =
      binary_ledger::read(std::as_bytes(std::span(bytes)),
                          [](const emulator::LedgerRecord& record, const RuleNames& names) {
                            fmt::print("{}\n", ledger_line(record, names, 0));
                          });
  if (!end) return print_error({fmt::format("{}: {}", path, end.error()), ExitCode::failed});
  if (!*end)
    return print_error({path + ": the ledger has no end: its writer was stopped", ExitCode::failed});
  if ((*end)->skipped > 0)
    fmt::print(stderr, "{} records were skipped when it was written\n", (*end)->skipped);
  return ExitCode::done;
}

}  // namespace

void add_ledger_command(CLI::App& program, Command& chosen) {
  auto file = std::make_shared<std::string>();
  CLI::App* command =
      program.add_subcommand("ledger", "Print a compact ledger (--ledger FILE.lwl) as JSON Lines");
  command->add_option("FILE", *file, "as run or replay wrote it")->required();
  command->callback([file, &chosen] { chosen = [file] { return print(*file); }; });
}

}  // namespace lw::impair
