// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/core.h>

#include "core/output.h"
#include "impair/cli/commands.h"
#include "impair/record/ledger_file.h"

namespace lw::impair {
namespace {

ExitCode print(const std::string& path) {
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  // A folder can be opened, but not read.
  if (!file || (file.peek(), file.bad()))
    return print_error({fmt::format("cannot read {}: {}", path, std::strerror(errno))});
  file.clear();
  std::string bytes(binary_ledger::kMagic.size(), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  // Of another file, only the first bytes are read: it may be large, or have no end.
  if (bytes == binary_ledger::kMagic) bytes.append(std::istreambuf_iterator<char>(file), {});
  const auto end = binary_ledger::read(
      std::as_bytes(std::span(bytes)),
      [](const emulator::LedgerRecord& record, const RuleNames& names) {
        print_out(fmt::format("{}\n", ledger_line(record, names, 0)));
      },
      [](std::string_view change) { print_out(fmt::format("{}\n", change)); });
  if (!end) return print_error({fmt::format("{}: {}", path, end.error()), ExitCode::failed});
  if (!*end)
    return print_error(
        {path + ": the ledger has no end: its writer was stopped", ExitCode::failed});
  if ((*end)->skipped > 0)
    fmt::print(stderr, "{} records were skipped when it was written\n", (*end)->skipped);
  return ExitCode::done;
}

}  // namespace

app::Command ledger_command() {
  auto file = std::make_shared<std::string>();
  app::Command command{
      .name = "ledger",
      .help = "Print a compact ledger (--ledger FILE.lwl) as JSON Lines",
      .examples = "roce-impair ledger ledger.lwl | jq .",
      .run = [file] { return print(*file); },
  };
  command.options.add("FILE", app::text(*file), "", "ledger written by run or replay").required();
  return command;
}

}  // namespace lw::impair
