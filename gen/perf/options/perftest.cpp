// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>

#include <fmt/format.h>

#include "gen/perf/options/perftest_line.h"

namespace lw::gen::perftest {
namespace {

constexpr std::string_view kExpectedLine =
    "expected a line of perftest behind --, such as ib_write_bw -q 4";
constexpr std::string_view kTimeout = "14", kReads = "16";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// A whole number in decimal, as perftest reads it: "0x60" is hexadecimal, "010" octal. Any other
/// text as it is.
std::string decimal(const std::string& text) {
  if (text.size() < 2 || text.front() != '0') return text;
  const bool hexadecimal = text[1] == 'x' || text[1] == 'X';
  const char* const end = text.data() + text.size();
  std::uint64_t value = 0;
  const auto [read_to, error] =
      std::from_chars(text.data() + (hexadecimal ? 2 : 1), end, value, hexadecimal ? 16 : 8);
  return error == std::errc{} && read_to == end ? std::to_string(value) : text;
}

/// An option that roce-endpoint takes in its own way: its name there and, of a flag, its value.
/// Without a name it is refused.
struct DeviceOption {
  std::string_view name, ours, value, remark;
};
constexpr std::string_view kJudge = "roce-endpoint judges no figure: take them from --json";
constexpr std::string_view kUnpaced = "roce-endpoint does not limit the rate of a device";
constexpr auto kOfDevice = std::to_array<DeviceOption>({
    {"ib-dev", "--device", "", ""},
    {"gid-index", "--gid", "", ""},
    {"tx-depth", "--buffers", "", ""},
    {"events", "--poll", "event", ""},
    {"limit_bw", "", "", kJudge},
    {"limit_msgrate", "", "", kJudge},
    {"rate_limit", "", "", kUnpaced},
    {"rate_units", "", "", kUnpaced},
});

/// Writes the options of roce-gen for a line.
class Writer {
 public:
  Writer(const PerftestLine& line, Run run)
      : line_(line), simulated_(run == Run::simulated), device_(run == Run::device) {}

  Result<Translation> write() {
    note_skipped();
    result_.program = line_.program->name;
    for (const GivenOption& given : line_.given)
      if (auto translated = translate(given); !translated)
        return std::unexpected(translated.error());
    add_operation();
    add_defaults();
    add_rate();
    if (!line_.server.empty()) add_server();
    if (!error_.empty()) return fail(error_);
    return std::move(result_);
  }
  /// Writes a server's line: its port. The client's parameters apply to both sides.
  Result<Translation> write_server() {
    note_skipped();
    if (!line_.server.empty())
      return fail(fmt::format("a server's line names no server, found \"{}\"", line_.server));
    std::string others;
    for (const GivenOption& given : line_.given) {
      if (given.option->name == "port") {
        add("--service", given.value);
      } else {
        others += (others.empty() ? "" : ", ") + written(*given.option);
      }
    }
    if (!others.empty()) note(fmt::format("ignored, as the client's line decides: {}", others));
    return std::move(result_);
  }
  /// Writes the options alone, without operation and defaults.
  Result<Translation> write_options() {
    for (const GivenOption& given : line_.given)
      if (auto translated = translate(given); !translated)
        return std::unexpected(translated.error());
    add_rate();
    if (!error_.empty()) return fail(error_);
    return std::move(result_);
  }

 private:
  void add(std::string_view option, std::string_view value) {
    result_.words.emplace_back(option);
    if (!value.empty()) result_.words.emplace_back(value);
  }
  void note(std::string text) { result_.notes.push_back(std::move(text)); }
  void note_skipped() {
    if (!line_.skipped.empty())
      note(fmt::format("\"{}\" is skipped: start roce-gen itself in that environment",
                       line_.skipped));
  }

  Result<void> translate(const GivenOption& given) {
    const PerftestOption& option = *given.option;
    if (device_) {
      const auto own = std::ranges::find(kOfDevice, option.name, &DeviceOption::name);
      if (own != kOfDevice.end()) return translate_of_device(given, *own);
    }
    switch (option.treatment) {
      case Treatment::unsimulated:
        if (simulated_) return ignore(given, "a simulation is the same without it");
        [[fallthrough]];
      case Treatment::refused:
        return fail(fmt::format("{}: {}", written(option), option.remark));
      case Treatment::ignored:
        note(fmt::format("{} is ignored: {}", written(option), option.remark));
        return {};
      case Treatment::of_port:
        if (simulated_) return ignore(given, option.remark);
        [[fallthrough]];
      case Treatment::same:
        return translate_same(given);
    }
    return {};
  }

  /// An option that means something else to a device than to a port.
  Result<void> translate_of_device(const GivenOption& given, const DeviceOption& own) {
    if (own.ours.empty()) return fail(fmt::format("{}: {}", written(*given.option), own.remark));
    add(own.ours, own.value.empty() ? std::string_view(given.value) : own.value);
    return {};
  }

  Result<void> translate_same(const GivenOption& given) {
    const std::string_view name = given.option->name;
    if (name == "atomic_type" || name == "rate_limit" || name == "rate_units") return {};
    if (name == "bidirectional" && line_.program->latency)
      return ignore(given, "each message of a latency run goes there and back");
    if (name == "margin" && line_.program->latency)
      return ignore(given, "a latency run leaves nothing out");
    if (name == "run_infinitely" && line_.program->latency)
      return fail("--run_infinitely: goes with a _bw");
    if (name == "iters") return translate_iterations(given);
    if (name == "size") return translate_size(given);
    if (name == "write_with_imm" || name == "send_with_imm") return translate_immediate(given);
    if (name == "limit_bw" || name == "limit_msgrate") return translate_limit(given);
    if (name == "connection") return translate_connection(lower(given.value));
    if (name == "port" && device_) return {};  // goes with the server's name
    if (name == "port" && simulated_) return ignore(given, "a simulated run has no server");
    if (name == "rx-depth") return translate_receives(given);
    if (name == "out_json_file" && line_.value("out_json") != nullptr) return {};
    if (name == "out_json_file") return add("--json", {}), Result<void>{};
    const std::string value = decimal(given.value);
    add(given.option->ours, value);
    if (name == "outs" && simulated_) add("--responder-reads", value);
    return {};
  }

  Result<void> ignore(const GivenOption& given, std::string_view why) {
    note(fmt::format("{} is ignored: {}", written(*given.option), why));
    return {};
  }

  Result<void> translate_connection(const std::string& kind) {
    if (kind == "rc") return {};
    if (kind != "uc" && kind != "ud")
      return fail(fmt::format("-c, --connection: expected RC, UC or UD, found \"{}\"", kind));
    if (simulated_) return fail("-c, --connection: a simulation has RC only");
    add("--transport", kind);
    return {};
  }

  Result<void> translate_iterations(const GivenOption& given) {
    constexpr std::uint64_t kLeast = 5;  // perftest's
    std::uint64_t number = kLeast;       // what is no number is refused by our own option
    const std::string value = decimal(given.value);
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (number < kLeast)
      return fail(fmt::format("{}: perftest expects at least {}, found {}", written(*given.option),
                              kLeast, number));
    add(given.option->ours, value);
    return {};
  }

  /// A size, of which perftest reads a number and K or M, and nothing behind them.
  Result<void> translate_size(const GivenOption& given) {
    const std::string& text = given.value;
    const std::string_view unit = text.ends_with('K') || text.ends_with('M')
                                      ? std::string_view(text).substr(text.size() - 1)
                                      : std::string_view{};
    const std::string number = decimal(text.substr(0, text.size() - unit.size()));
    const std::size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
    if (digits > 0 && digits < number.size())
      note(fmt::format("{} {} is {} B, as perftest reads K and M only", written(*given.option),
                       text, number.substr(0, digits)));
    add(given.option->ours, number.substr(0, std::max<std::size_t>(digits, 1)).append(unit));
    return {};
  }

  /// Reads the number that a value begins with, as perftest does. Notes what it leaves out.
  Result<double> read_number(const GivenOption& given) {
    double value = 0;
    const char* const end = given.value.data() + given.value.size();
    const auto [read_to, error] = std::from_chars(given.value.data(), end, value);
    if (error != std::errc{})
      return fail(
          fmt::format("{}: expected a number, found \"{}\"", written(*given.option), given.value));
    if (read_to != end)
      note(fmt::format("{} {} is {:g}, as perftest reads the number only", written(*given.option),
                       given.value, value));
    return value;
  }

  /// write_with_imm or send_with_imm, of the programs whose names begin so.
  Result<void> translate_immediate(const GivenOption& given) {
    const std::string_view operation = given.option->name.substr(0, given.option->name.find('_'));
    const bool known_program = line_.program->name.starts_with("ib_");
    if (known_program && line_.program->operation != operation)
      return fail(fmt::format("{}: goes with ib_{}_bw and ib_{}_lat", written(*given.option),
                              operation, operation));
    add(given.option->ours, {});
    return {};
  }

  /// A limit of the rate or of the message rate, below which the run fails.
  Result<void> translate_limit(const GivenOption& given) {
    const auto limit = read_number(given);
    if (!limit) return std::unexpected(limit.error());
    if (line_.program->latency) return ignore(given, "a latency run has no rate");
    constexpr double kMebibyte = 8.388608e-3;  // Gb
    const bool rate = given.option->name == "limit_bw";
    const bool mebibytes = rate && line_.value("report_gbits") == nullptr;
    add("--expect", fmt::format("{} >= {:.9g}", rate ? "bw_average_gbps" : "msg_rate_mpps",
                                *limit * (mebibytes ? kMebibyte : 1)));
    return {};
  }

  Result<void> translate_receives(const GivenOption& given) {
    if (!simulated_) return ignore(given, "through a port a receive is posted for each message");
    if (line_.program->operation != "send" || line_.program->latency)
      return ignore(given, "only SENDs of a bandwidth run take receives");
    add("--receives", given.value);
    return {};
  }

  void add_operation() {
    std::string_view operation = line_.program->operation;
    if (const std::string* kind = line_.value("atomic_type")) {
      const std::string type = lower(*kind);
      if (type != "cmp_and_swap" && type != "fetch_and_add")
        error_ = fmt::format(
            "-A, --atomic_type: expected CMP_AND_SWAP or FETCH_AND_ADD, found \"{}\"", *kind);
      if (type == "cmp_and_swap") operation = "compare-swap";
    }
    add("--op", operation);
    if (line_.program->latency && !device_) add("--pattern", "lat");
  }

  /// Adds perftest's default where ours differs and the line does not say.
  void add_default(std::string_view name, std::string_view ours, std::string_view value,
                   std::string_view instead) {
    if (line_.value(name) != nullptr) return;
    add(ours, value);
    note(device_ ? fmt::format("{} {}: perftest's default", ours, value)
                 : fmt::format("{} {}: perftest's default, where roce-gen has {}", ours, value,
                               instead));
  }

  /// The margin that perftest leaves out of a run with -D: a quarter, in whole seconds.
  void add_margin() {
    const std::string* duration = line_.value("duration");
    if (duration == nullptr || line_.program->latency || line_.value("margin") != nullptr) return;
    unsigned seconds = 0;
    std::from_chars(duration->data(), duration->data() + duration->size(), seconds);
    if (seconds < 4) return;
    add_default("margin", "--margin", std::to_string(seconds / 4), "none");
  }

  void add_defaults() {
    const PerftestProgram& program = *line_.program;
    add_margin();
    add_default("qp-timeout", "--timeout", kTimeout, "18");
    const bool sized = program.operation != "atomic" && line_.value("all") == nullptr;
    if (sized && program.latency) add_default("size", "--size", program.size, "64KiB");
    std::string_view ours = simulated_ ? "120 round trips" : "5000";
    if (program.latency) ours = "1000";
    if (line_.value("duration") == nullptr && program.iterations != ours)
      add_default("iters", "--iterations", program.iterations, ours);
  }

  void add_rate() {
    const auto rate = std::ranges::find(line_.given, "rate_limit",
                                        [](const GivenOption& each) { return each.option->name; });
    if (rate == line_.given.end()) return;
    const std::string* units = line_.value("rate_units");
    const std::string unit = units != nullptr ? *units : "g";
    if (unit != "g" && unit != "M") {
      error_ = fmt::format("--rate_units: expected g or M, found \"{}\"{}", unit,
                           unit == "p" ? ": a QP's rate is in bits" : "");
      return;
    }
    constexpr double kMebibyte = 8.388608;  // Mb
    const auto value = read_number(*rate);
    if (!value) {
      error_ = value.error().message;
      return;
    }
    add("--rate-control", "fixed");
    add("--qp-rate",
        unit == "g" ? fmt::format("{}Gb/s", *value) : fmt::format("{}Mb/s", *value * kMebibyte));
  }

  void add_server() {
    const std::string* port = line_.value("port");
    if (device_) return add("--peer", port == nullptr ? line_.server : line_.server + ":" + *port);
    if (simulated_)
      return note(fmt::format("{} is ignored: no server is simulated by name", line_.server));
    add("--peer", line_.server);
  }

  const PerftestLine& line_;
  bool simulated_, device_;
  Translation result_;
  std::string error_;
};

}  // namespace

Result<Translation> translate(std::span<const std::string> line, Run run) {
  if (line.empty()) return fail(std::string(kExpectedLine));
  const auto read = read_line(line);
  if (!read) return std::unexpected(read.error());
  return Writer(*read, run).write();
}

namespace {

/// Returns perftest's option of a word, if it is none of ours: "--iters=5", "-R".
const PerftestOption* foreign(std::string_view word, const app::Options& own) {
  if (word.size() < 2 || !word.starts_with('-')) return nullptr;
  const bool is_long = word.starts_with("--");
  const std::string_view name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  // Each program has these, without a row in its list.
  constexpr auto kEverywhere =
      std::to_array<std::string_view>({"-h", "--help", "--help-all", "--version"});
  if (own.find(name) != nullptr || std::ranges::find(kEverywhere, name) != kEverywhere.end())
    return nullptr;
  if (!is_long) return by_letter(name[1]);
  const auto found = by_name(name.substr(2));
  return found.size() == 1 ? found.front() : nullptr;
}

/// Moves perftest's options from `words` to a line that begins with the first word.
std::vector<std::string> take_foreign(std::vector<std::string>& words, const app::Options& own) {
  std::vector<std::string> line = {words.front()}, kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const PerftestOption* option = foreign(words[i], own);
    (option == nullptr ? kept : line).push_back(words[i]);
    if (option == nullptr || !option->takes_value || i + 1 == words.size()) continue;
    const bool attached = words[i].starts_with("--") ? words[i].contains('=') : words[i].size() > 2;
    if (!attached) line.push_back(words[++i]);
  }
  words = std::move(kept);
  return line;
}

Result<Translation> translate_options(std::span<const std::string> line, Run run) {
  const auto read = read_options(line);
  if (!read) return std::unexpected(read.error());
  return Writer(*read, run).write_options();
}

/// Prints the notes, and adds the words of the translation.
std::vector<std::string> joined(std::vector<std::string> words, const Translation& translation) {
  for (const std::string& note : translation.notes) fmt::print(stderr, "perftest: {}\n", note);
  words.insert(words.end(), translation.words.begin(), translation.words.end());
  return words;
}

}  // namespace

Result<std::vector<std::string>> expand_server(std::span<const std::string> words) {
  const auto dashes = std::ranges::find(words, "--");
  std::vector<std::string> own(words.begin(), dashes);
  if (dashes == words.end()) return own;
  const std::vector<std::string> line(dashes + 1, words.end());
  if (line.empty()) return fail(std::string(kExpectedLine));
  const auto read = read_line(line);
  if (!read) return std::unexpected(read.error());
  const auto translation = Writer(*read, Run::port).write_server();
  if (!translation) return std::unexpected(translation.error());
  return joined(std::move(own), *translation);
}

Result<std::vector<std::string>> expand_device(std::span<const std::string> words,
                                               const app::Options& own) {
  const auto dashes = std::ranges::find(words, "--");
  std::vector<std::string> all(words.begin(), dashes);
  if (dashes == words.end()) {
    const auto translation = translate_options(take_foreign(all, own), Run::device);
    if (!translation) return std::unexpected(translation.error());
    return joined(std::move(all), *translation);
  }
  const std::vector<std::string> line(dashes + 1, words.end());
  const auto translation = translate(line, Run::device);
  if (!translation) return std::unexpected(translation.error());
  if (all.size() > 1 && !translation->program.ends_with("_" + all[1]))
    return fail(
        fmt::format("{}: roce-endpoint {} is not its command", translation->program, all[1]));
  return joined(std::move(all), *translation);
}

Result<std::vector<std::string>> expand(std::span<const std::string> words, const app::Options& own,
                                        Run run) {
  const auto dashes = std::ranges::find(words, "--");
  std::vector<std::string> all(words.begin(), dashes);
  const bool whole = dashes != words.end();
  const std::vector<std::string> line =
      whole ? std::vector<std::string>(dashes + 1, words.end()) : take_foreign(all, own);
  auto translation = whole ? translate(line, run) : translate_options(line, run);
  if (!translation) return std::unexpected(translation.error());
  return joined(std::move(all), *translation);
}

}  // namespace lw::gen::perftest
