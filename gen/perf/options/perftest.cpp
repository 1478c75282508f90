// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>

#include <fmt/format.h>

namespace lw::gen::perftest {
namespace {

constexpr std::string_view kDevice = "the path and the port are roce-gen's own options";
constexpr std::string_view kMemory = "the memory of a host is not part of a run here";
constexpr std::string_view kOutput = "shapes the output only";
constexpr std::string_view kMoment = "how connections are made changes no figure";
constexpr std::string_view kCrypto = "no packet is encrypted here";
constexpr std::string_view kPosting = "how requests reach the NIC is not part of a run here";
constexpr std::string_view kOneWay = "data goes from the client to the server, or both ways";

constexpr auto kOptions = std::to_array<PerftestOption>({
    {"a", "all", false, Treatment::same, "--all", "2 B to 8 MiB"},
    {"A", "atomic_type", true, Treatment::same, "--op", "FETCH_AND_ADD or CMP_AND_SWAP"},
    {"b", "bidirectional", false, Treatment::same, "--bidirectional",
     "of a _bw; through a port of RC"},
    {"c", "connection", true, Treatment::same, "--transport",
     "RC; through a port also UC and UD. XRC, DC and SRD are refused"},
    {"C", "report-cycles", false, Treatment::ignored, "", "times are in microseconds"},
    {"d", "ib-dev", true, Treatment::ignored, "", kDevice},
    {"D", "duration", true, Treatment::same, "--duration", "in seconds"},
    {"e", "events", false, Treatment::ignored, "", "completions are polled"},
    {"f", "margin", true, Treatment::same, "--margin", "in seconds; a quarter of -D unless given"},
    {"F", "CPU-freq", false, Treatment::ignored, "", kOutput},
    {"g", "mcg", false, Treatment::refused, "", "multicast groups are not there"},
    {"h", "help", false, Treatment::refused, "", "give roce-gen perf --help"},
    {"H", "report-histogram", false, Treatment::ignored, "", kOutput},
    {"i", "ib-port", true, Treatment::ignored, "", kDevice},
    {"I", "inline_size", true, Treatment::ignored, "", kPosting},
    {"l", "post_list", true, Treatment::ignored, "", kPosting},
    {"L", "hop_limit", true, Treatment::refused, "", "the hop limit is 64"},
    {"m", "mtu", true, Treatment::same, "--mtu", ""},
    {"M", "MGID", true, Treatment::refused, "", "multicast groups are not there"},
    {"n", "iters", true, Treatment::same, "--iterations", "at least 5"},
    {"N", "noPeak", false, Treatment::ignored, "", kOutput},
    {"o", "outs", true, Treatment::same, "--reads",
     "the responder takes as many: --responder-reads"},
    {"O", "dualport", false, Treatment::refused, "", "a run has one port"},
    {"p", "port", true, Treatment::same, "--service", "through a port, where it is given"},
    {"q", "qp", true, Treatment::same, "--qps", ""},
    {"Q", "cq-mod", true, Treatment::ignored, "", kPosting},
    {"r", "rx-depth", true, Treatment::same, "--receives",
     "SEND in a simulation; through a port a receive is posted for each message"},
    {"R", "rdma_cm", false, Treatment::ignored, "", kMoment},
    {"s", "size", true, Treatment::same, "--size", ""},
    {"S", "sl", true, Treatment::refused, "", "frames have no priority"},
    {"t", "tx-depth", true, Treatment::same, "--tx-depth", ""},
    {"T", "tos", true, Treatment::refused, "", "the TOS of frames is not an option"},
    {"u", "qp-timeout", true, Treatment::same, "--timeout", ""},
    {"U", "report-unsorted", false, Treatment::ignored, "", kOutput},
    {"V", "version", false, Treatment::refused, "", "give roce-gen --version"},
    {"w", "limit_bw", true, Treatment::same, "--expect",
     "BW average in Gb/s with --report_gbits, otherwise in MiB/s"},
    {"W", "report-counters", true, Treatment::ignored, "", "a run has no device counters"},
    {"x", "gid-index", true, Treatment::ignored, "", kDevice},
    {"X", "vector", true, Treatment::ignored, "", "completions are polled"},
    {"y", "limit_msgrate", true, Treatment::same, "--expect", "messages per microsecond"},
    {"z", "com_rdma_cm", false, Treatment::ignored, "", kMoment},
    {"", "aes_block_size", true, Treatment::refused, "", kCrypto},
    {"", "aes_xts", false, Treatment::refused, "", kCrypto},
    {"", "burst_size", true, Treatment::refused, "", "the rate of a QP has no bursts here"},
    {"", "cpu_util", false, Treatment::ignored, "", kOutput},
    {"", "credentials_path", true, Treatment::refused, "", kCrypto},
    {"", "data_enc_key_app_path", true, Treatment::refused, "", kCrypto},
    {"", "data_enc_keys_number", true, Treatment::refused, "", kCrypto},
    {"", "disable_pcie_relaxed", false, Treatment::ignored, "", kMemory},
    {"", "dlid", true, Treatment::refused, "", "RoCE has no LIDs"},
    {"", "dont_xchg_versions", false, Treatment::ignored, "", kMoment},
    {"", "encrypt_on_tx", false, Treatment::refused, "", kCrypto},
    {"", "flow_label", true, Treatment::refused, "", "the flow label of frames is not an option"},
    {"", "force-link", true, Treatment::ignored, "", "the link is Ethernet"},
    {"", "inline_recv", true, Treatment::ignored, "", kPosting},
    {"", "ipv6", false, Treatment::ignored, "", "the family is that of --peer"},
    {"", "ipv6-addr", false, Treatment::ignored, "", "the family is that of --peer"},
    {"", "kek_path", true, Treatment::refused, "", kCrypto},
    {"", "latency_gap", true, Treatment::refused, "", "messages of a latency run have no gap"},
    {"", "log_active_dci_streams", true, Treatment::refused, "", "DC is not there"},
    {"", "log_dci_streams", true, Treatment::refused, "", "DC is not there"},
    {"", "mmap", true, Treatment::ignored, "", kMemory},
    {"", "mmap-offset", true, Treatment::ignored, "", kMemory},
    {"", "mr_per_qp", false, Treatment::ignored, "", kMemory},
    {"", "odp", false, Treatment::ignored, "", kMemory},
    {"", "out_json", false, Treatment::same, "--json", "one line a size, on standard output"},
    {"", "out_json_file", true, Treatment::same, "--json", "the file's name is ignored"},
    {"", "output", true, Treatment::ignored, "", kOutput},
    {"", "payload_file_path", true, Treatment::refused, "", "through a port give --data FILE"},
    {"", "perform_warm_up", false, Treatment::ignored, "",
     "the steady rate leaves out the start by its own rule"},
    {"", "pkey_index", true, Treatment::ignored, "", "the P_Key is 0xffff"},
    {"", "rate_limit", true, Treatment::same, "--qp-rate", "with --rate-control fixed"},
    {"", "rate_limit_type", true, Treatment::ignored, "", "the rate is that of a QP's packets"},
    {"", "rate_units", true, Treatment::same, "--qp-rate",
     "g and M (MiB/s). p, packets per second, is refused"},
    {"", "recv_post_list", true, Treatment::ignored, "", kPosting},
    {"", "report-both", false, Treatment::ignored, "", "both directions are always reported"},
    {"", "report_gbits", false, Treatment::ignored, "", "rates are always in Gb/s"},
    {"", "report-per-port", false, Treatment::refused, "", "a run has one port"},
    {"", "retry_count", true, Treatment::same, "--retries", ""},
    {"", "reversed", false, Treatment::refused, "", kOneWay},
    {"", "run_infinitely", false, Treatment::same, "--forever",
     "of a _bw; a row for each -D, which is 5 s unless given"},
    {"", "sig_before", false, Treatment::refused, "", kCrypto},
    {"", "source_ip", true, Treatment::ignored, "", "--address is the own address"},
    {"", "tclass", true, Treatment::refused, "", "the traffic class of frames is not an option"},
    {"", "typical_pkt_size", true, Treatment::refused, "", "the rate of a QP has no bursts here"},
    {"", "use_exp", false, Treatment::ignored, "", kPosting},
    {"", "use_hugepages", false, Treatment::ignored, "", kMemory},
    {"", "use_old_post_send", false, Treatment::ignored, "", kPosting},
    {"", "use-srq", false, Treatment::refused, "", "each QP has its own receives"},
    {"", "use_cuda", true, Treatment::refused, "", kMemory},
    {"", "use_cuda_dmabuf", false, Treatment::refused, "", kMemory},
    {"", "use_rocm", true, Treatment::refused, "", kMemory},
    {"", "vlan_en", false, Treatment::refused, "", "frames have no VLAN tag here"},
    {"", "vlan_pcp", true, Treatment::refused, "", "frames have no VLAN tag here"},
    {"", "wait_destroy", true, Treatment::ignored, "", kMoment},
});

/// A program of perftest and its defaults.
struct Program {
  std::string_view name;
  std::string_view operation;
  bool latency = false;
  std::string_view size, iterations;
};
constexpr auto kPrograms = std::to_array<Program>({
    {"ib_write_bw", "write", false, "65536", "5000"},
    {"ib_send_bw", "send", false, "65536", "1000"},
    {"ib_read_bw", "read", false, "65536", "1000"},
    {"ib_atomic_bw", "atomic", false, "8", "1000"},
    {"ib_write_lat", "write", true, "2", "1000"},
    {"ib_send_lat", "send", true, "2", "1000"},
    {"ib_read_lat", "read", true, "2", "1000"},
    {"ib_atomic_lat", "atomic", true, "8", "1000"},
});
constexpr std::string_view kExpectedLine =
    "expected a line of perftest behind --, such as ib_write_bw -q 4";
/// Stands for a line without a program's name: nothing is left out of it.
constexpr Program kAnyProgram{"roce-gen perf", "send", false, "", ""};
constexpr std::string_view kTimeout = "14", kReads = "16";

const PerftestOption* by_letter(char letter) noexcept {
  const auto found = std::ranges::find_if(kOptions, [letter](const PerftestOption& o) {
    return o.letter == std::string_view(&letter, 1);
  });
  return found == kOptions.end() ? nullptr : &*found;
}

const PerftestOption* by_name(std::string_view name) noexcept {
  const auto found = std::ranges::find(kOptions, name, &PerftestOption::name);
  return found == kOptions.end() ? nullptr : &*found;
}

std::string written(const PerftestOption& option) {
  return option.letter.empty() ? fmt::format("--{}", option.name)
                               : fmt::format("-{}, --{}", option.letter, option.name);
}

/// An option of a line with its value.
struct Given {
  const PerftestOption* option;
  std::string value;
};

struct Line {
  const Program* program;
  std::vector<Given> given;
  std::string server;  // empty: none

  [[nodiscard]] const std::string* value(std::string_view name) const noexcept {
    for (const Given& each : given)
      if (each.option->name == name) return &each.value;
    return nullptr;
  }
};

/// Reads the options of a line as getopt_long() does: -q4, -q 4, --qp=4, --qp 4, -aF.
class Reader {
 public:
  explicit Reader(std::span<const std::string> words) : words_(words) {}

  Result<Line> read() {
    const auto program = std::ranges::find(kPrograms, words_.front(), &Program::name);
    if (program == kPrograms.end())
      return fail(
          fmt::format("expected ib_write_bw, ib_send_bw, ib_read_bw, ib_atomic_bw, or one "
                      "of their _lat, behind --, found \"{}\"",
                      words_.front()));
    return read_as(*program);
  }
  /// Reads the options behind the first word as those of `program`.
  Result<Line> read_as(const Program& program) {
    line_.program = &program;
    for (at_ = 1; at_ < words_.size(); ++at_)
      if (auto taken = take(words_[at_]); !taken) return std::unexpected(taken.error());
    return line_;
  }

 private:
  Result<void> take(const std::string& word) {
    if (word.starts_with("--")) return take_long(std::string_view(word).substr(2));
    if (word.size() > 1 && word.starts_with('-')) return take_letters(word);
    if (!line_.server.empty())
      return fail(fmt::format("expected one server, found \"{}\" and \"{}\"", line_.server, word));
    line_.server = word;
    return {};
  }

  Result<void> take_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const PerftestOption* option = by_name(name);
    if (option == nullptr) return unknown(fmt::format("--{}", name));
    if (equals == std::string_view::npos) return add(*option, {});
    if (!option->takes_value) return fail(fmt::format("--{} takes no value", name));
    line_.given.push_back({option, std::string(text.substr(equals + 1))});
    return {};
  }

  Result<void> take_letters(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const PerftestOption* option = by_letter(word[i]);
      if (option == nullptr) return unknown(fmt::format("-{}", word[i]));
      if (option->takes_value) return add(*option, word.substr(i + 1));
      line_.given.push_back({option, {}});
    }
    return {};
  }

  /// Adds an option, whose value is `attached` or the next word.
  Result<void> add(const PerftestOption& option, std::string_view attached) {
    std::string value(attached);
    if (option.takes_value && value.empty()) {
      if (at_ + 1 == words_.size())
        return fail(fmt::format("{}: expected a value, found none", written(option)));
      value = words_[++at_];
    }
    line_.given.push_back({&option, std::move(value)});
    return {};
  }

  [[nodiscard]] Result<void> unknown(const std::string& option) const {
    return fail(fmt::format("{}: {} has no such option", option, line_.program->name));
  }

  std::span<const std::string> words_;
  std::size_t at_ = 0;
  Line line_{};
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
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
  Writer(const Line& line, Run run)
      : line_(line), simulated_(run == Run::simulated), device_(run == Run::device) {}

  Result<Translation> write() {
    for (const Given& given : line_.given)
      if (auto taken = take(given); !taken) return std::unexpected(taken.error());
    add_operation();
    add_defaults();
    add_rate();
    if (!line_.server.empty()) add_server();
    if (!error_.empty()) return fail(error_);
    return std::move(result_);
  }
  /// Writes a server's line: its port. The client's parameters apply to both sides.
  Result<Translation> write_server() {
    if (!line_.server.empty())
      return fail(fmt::format("a server's line names no server, found \"{}\"", line_.server));
    std::string others;
    for (const Given& given : line_.given) {
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
    for (const Given& given : line_.given)
      if (auto taken = take(given); !taken) return std::unexpected(taken.error());
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

  Result<void> take(const Given& given) {
    const PerftestOption& option = *given.option;
    if (device_) {
      const auto own = std::ranges::find(kOfDevice, option.name, &DeviceOption::name);
      if (own != kOfDevice.end()) return take_of_device(given, *own);
    }
    switch (option.treatment) {
      case Treatment::refused:
        return fail(fmt::format("{}: {}", written(option), option.remark));
      case Treatment::ignored:
        note(fmt::format("{} is ignored: {}", written(option), option.remark));
        return {};
      case Treatment::same:
        return take_same(given);
    }
    return {};
  }

  /// An option that means something else to a device than to a port.
  Result<void> take_of_device(const Given& given, const DeviceOption& own) {
    if (own.ours.empty()) return fail(fmt::format("{}: {}", written(*given.option), own.remark));
    add(own.ours, own.value.empty() ? std::string_view(given.value) : own.value);
    return {};
  }

  Result<void> take_same(const Given& given) {
    const std::string_view name = given.option->name;
    if (name == "atomic_type" || name == "rate_limit" || name == "rate_units") return {};
    if (name == "bidirectional" && line_.program->latency)
      return ignore(given, "each message of a latency run goes there and back");
    if (name == "margin" && line_.program->latency)
      return ignore(given, "a latency run leaves nothing out");
    if (name == "run_infinitely" && line_.program->latency)
      return fail("--run_infinitely: goes with a _bw");
    if (name == "limit_bw" || name == "limit_msgrate") return take_limit(given);
    if (name == "connection") return take_connection(lower(given.value));
    if (name == "port" && device_) return {};  // goes with the server's name
    if (name == "port" && simulated_) return ignore(given, "a simulated run has no server");
    if (name == "rx-depth") return take_receives(given);
    if (name == "out_json_file" && line_.value("out_json") != nullptr) return {};
    if (name == "out_json_file") return add("--json", {}), Result<void>{};
    add(given.option->ours, given.value);
    if (name == "outs" && simulated_) add("--responder-reads", given.value);
    return {};
  }

  Result<void> ignore(const Given& given, std::string_view why) {
    note(fmt::format("{} is ignored: {}", written(*given.option), why));
    return {};
  }

  Result<void> take_connection(const std::string& kind) {
    if (kind == "rc") return {};
    if (kind != "uc" && kind != "ud")
      return fail(fmt::format("-c, --connection: expected RC, UC or UD, found \"{}\"", kind));
    if (simulated_) return fail("-c, --connection: a simulation has RC only");
    add("--transport", kind);
    return {};
  }

  /// A limit of the rate or of the message rate, below which the run fails.
  Result<void> take_limit(const Given& given) {
    double value = 0;
    const char* end = given.value.data() + given.value.size();
    const auto [read_to, error] = std::from_chars(given.value.data(), end, value);
    if (error != std::errc{} || read_to != end)
      return fail(
          fmt::format("{}: expected a number, found \"{}\"", written(*given.option), given.value));
    if (line_.program->latency) return ignore(given, "a latency run has no rate");
    constexpr double kMebibyte = 8.388608e-3;  // Gb
    const bool rate = given.option->name == "limit_bw";
    if (rate && line_.value("report_gbits") == nullptr) value *= kMebibyte;
    add("--expect", fmt::format("{} >= {:.9g}", rate ? "bw_average_gbps" : "msg_rate_mpps", value));
    return {};
  }

  Result<void> take_receives(const Given& given) {
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
    const Program& program = *line_.program;
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
    const std::string* rate = line_.value("rate_limit");
    if (rate == nullptr) return;
    const std::string* units = line_.value("rate_units");
    const std::string unit = units != nullptr ? *units : "g";
    if (unit != "g" && unit != "M") {
      error_ = fmt::format("--rate_units: expected g or M, found \"{}\"{}", unit,
                           unit == "p" ? ": a QP's rate is in bits" : "");
      return;
    }
    constexpr double kMebibyte = 8.388608;  // Mb
    double value = 0;
    const auto [end, error] = std::from_chars(rate->data(), rate->data() + rate->size(), value);
    if (error != std::errc{} || end != rate->data() + rate->size()) {
      error_ = fmt::format("--rate_limit: expected a number, found \"{}\"", *rate);
      return;
    }
    add("--rate-control", "fixed");
    add("--qp-rate",
        unit == "g" ? fmt::format("{}Gb/s", value) : fmt::format("{}Mb/s", value * kMebibyte));
  }

  void add_server() {
    const std::string* port = line_.value("port");
    if (device_)
      return add("--connect", port == nullptr ? line_.server : line_.server + ":" + *port);
    if (simulated_)
      return note(fmt::format("{} is ignored: no server is simulated by name", line_.server));
    add("--peer", line_.server);
  }

  const Line& line_;
  bool simulated_, device_;
  Translation result_;
  std::string error_;
};

std::string_view word_of(Treatment treatment) noexcept {
  switch (treatment) {
    case Treatment::same:
      return "same";
    case Treatment::ignored:
      return "ignored";
    case Treatment::refused:
      break;
  }
  return "refused";
}

}  // namespace

std::span<const PerftestOption> options() noexcept { return kOptions; }

Result<Translation> translate(std::span<const std::string> line, Run run) {
  if (line.empty()) return fail(std::string(kExpectedLine));
  const auto read = Reader(line).read();
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
  constexpr auto kEverywhere = std::to_array<std::string_view>({"-h", "--help", "--version"});
  if (own.find(name) != nullptr || std::ranges::find(kEverywhere, name) != kEverywhere.end())
    return nullptr;
  return is_long ? by_name(name.substr(2)) : by_letter(name[1]);
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
  const auto read = Reader(line).read_as(kAnyProgram);
  if (!read) return std::unexpected(read.error());
  return Writer(*read, run).write_options();
}

}  // namespace

namespace {

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
  const auto read = Reader(line).read();
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
  if (all.size() > 1 && !line.front().ends_with("_" + all[1]))
    return fail(fmt::format("{}: roce-endpoint {} is not its command", line.front(), all[1]));
  return joined(std::move(all), *translation);
}

Result<std::vector<std::string>> expand(std::span<const std::string> words,
                                        const app::Options& own) {
  const auto dashes = std::ranges::find(words, "--");
  std::vector<std::string> all(words.begin(), dashes);
  const Run run = std::ranges::find(all, "--sim") != all.end() ? Run::simulated : Run::port;
  const bool whole = dashes != words.end();
  const std::vector<std::string> line =
      whole ? std::vector<std::string>(dashes + 1, words.end()) : take_foreign(all, own);
  auto translation = whole ? translate(line, run) : translate_options(line, run);
  if (!translation) return std::unexpected(translation.error());
  return joined(std::move(all), *translation);
}

std::string manual_table() {
  std::string text = "| perftest | here | |\n|---|---|---|\n";
  for (const PerftestOption& option : kOptions) {
    const std::string option_text = option.letter.empty()
                                        ? fmt::format("`--{}`", option.name)
                                        : fmt::format("`-{}`, `--{}`", option.letter, option.name);
    const std::string here = option.ours.empty() ? std::string(word_of(option.treatment))
                                                 : fmt::format("`{}`", option.ours);
    text += fmt::format("| {} | {} | {} |\n", option_text, here, option.remark);
  }
  return text;
}

}  // namespace lw::gen::perftest
