// SPDX-License-Identifier: BSD-3-Clause
#include "nic/eal.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sched.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "nic/runtime_folder.h"
#include "nic/set_down.h"

namespace lw::nic {

/// Captures DPDK's log: keeps the last 16 KiB for error messages, and optionally copies it to
/// stderr.
class EalLog {
 public:
  /// Redirects DPDK's log to the only EalLog of the process. It is never destroyed, because DPDK's
  /// interrupt thread may write until the process ends.
  static EalLog& open(bool pass_on);
  EalLog(const EalLog&) = delete;
  EalLog& operator=(const EalLog&) = delete;

  /// Discards the text kept so far.
  void forget();
  /// Returns the text kept since forget(), each line indented.
  [[nodiscard]] std::string said() const;

 private:
  EalLog() = default;
  static ssize_t write(void* cookie, const char* data, std::size_t size);

  static constexpr std::size_t kKept = 16 * 1024;
  bool pass_on_ = false;
  mutable std::mutex mutex_;
  std::string text_;
};

EalLog& EalLog::open(bool pass_on) {
  static EalLog* const log = [] {
    auto* made = new EalLog;
    std::FILE* stream = fopencookie(made, "w", {nullptr, &EalLog::write, nullptr, nullptr});
    if (stream) {
      std::setvbuf(stream, nullptr, _IONBF, 0);
      rte_openlog_stream(stream);
    }
    return made;
  }();
  log->pass_on_ = pass_on;
  return *log;
}

/// The write function for fopencookie().
ssize_t EalLog::write(void* cookie, const char* data, std::size_t size) {
  auto& log = *static_cast<EalLog*>(cookie);
  const std::lock_guard lock(log.mutex_);
  if (log.pass_on_) std::fwrite(data, 1, size, stderr);
  log.text_.append(data, size);
  if (log.text_.size() > kKept) log.text_.erase(0, log.text_.size() - kKept);
  return static_cast<ssize_t>(size);
}

void EalLog::forget() {
  const std::lock_guard lock(mutex_);
  text_.clear();
}

std::string EalLog::said() const {
  const std::lock_guard lock(mutex_);
  std::string indented;
  std::string_view rest = text_;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    indented += "\n  ";
    indented += rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return indented;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

struct Eal::State {
  explicit State(bool verbose) : log(EalLog::open(verbose)) {}

  EalLog& log;
  bool hugepages = false;
  std::string private_directory;        // created by us if the user has none; removed at the end
  std::optional<RuntimeFolder> folder;  // DPDK's, removed at the end
  std::vector<std::string> left_behind;
  PortClaims claims;

  // Doesn't call rte_eal_cleanup(), which unmaps memory that DPDK's interrupt thread still reads
  // (crashes at exit after memif was used, DPDK 22.11). The end of the process frees the memory.
  ~State() {
    std::error_code ignored;
    note_set_down_in(nullptr);
    folder.reset();
    if (!private_directory.empty()) std::filesystem::remove_all(private_directory, ignored);
  }
};

namespace {

std::uint64_t meminfo_value(std::string_view key) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::uint64_t value = 0;
  while (file >> word) {
    if (word == key && file >> value) return value;
    file.ignore(256, '\n');
  }
  return 0;
}

/// Hugepages are allocated as memfd (--in-memory): that needs free pages but no hugetlbfs mount.
bool enough_hugepages(std::uint32_t memory_mib) {
  return meminfo_value("HugePages_Free:") * meminfo_value("Hugepagesize:") / 1024 >= memory_mib;
}

/// Returns DPDK's --lcores: "0@(0,1)" is not pinned, "0@3,1@4" is.
std::string lcore_map(const std::vector<int>& cores) {
  if (cores.empty()) return fmt::format("0@({})", fmt::join(allowed_cpus(), ","));
  std::vector<std::string> pinned;
  for (std::size_t i = 0; i < cores.size(); ++i)
    pinned.push_back(fmt::format("{}@{}", i, cores[i]));
  return fmt::format("{}", fmt::join(pinned, ","));
}

std::string prefix_of(const EalConfig& config) {
  return config.file_prefix.empty() ? fmt::format("longwire-{}", getpid()) : config.file_prefix;
}

std::vector<std::string> arguments_of(const EalConfig& config, bool hugepages) {
  std::vector<std::string> arguments = {"longwire", "--lcores", lcore_map(config.cores),
                                        "--file-prefix=" + prefix_of(config)};
  arguments.emplace_back(config.telemetry ? "--telemetry" : "--no-telemetry");
  if (hugepages) {
    arguments.push_back("--in-memory");
  } else {
    for (const auto* word : {"--no-huge", "--no-shconf", "-m"}) arguments.emplace_back(word);
    arguments.push_back(fmt::format("{}", config.memory_mib));
  }
  bool any_pci = false;
  for (const auto& spec : config.ports) {
    const auto* pci = spec.as<PciSpec>();
    if (!pci) continue;
    any_pci = true;
    arguments.insert(arguments.end(), {"-a", pci->address});
  }
  if (!any_pci) arguments.emplace_back("--no-pci");
  return arguments;
}

/// DPDK needs a runtime directory. An ordinary user without XDG_RUNTIME_DIR would share /tmp/dpdk
/// with the user who created it first, and be refused. Returns the directory created, or empty.
std::string provide_runtime_directory() {
  const char* own = std::getenv("XDG_RUNTIME_DIR");
  if (geteuid() == 0 || (own && access(own, W_OK | X_OK) == 0)) return {};
  const auto folder = std::filesystem::temp_directory_path();
  remove_private_folders(folder);
  std::string path = (folder / "longwire-XXXXXX").string();
  if (!mkdtemp(path.data())) return {};
  setenv("XDG_RUNTIME_DIR", path.c_str(), 1);
  return path;
}

Result<void> check_cores(const std::vector<int>& cores) {
  const auto allowed = allowed_cpus();
  for (const int core : cores)
    if (std::ranges::find(allowed, core) == allowed.end())
      return fail(fmt::format("core {} is not one that this process may use; these are: {}", core,
                              fmt::join(allowed, ", ")),
                  ExitCode::environment);
  return {};
}

}  // namespace

Result<Eal> Eal::start(const EalConfig& config) {
  if (auto checked = check_cores(config.cores); !checked) return std::unexpected(checked.error());
  if (auto distinct = check_distinct(config.ports); !distinct)
    return std::unexpected(distinct.error());
  auto claims = PortClaims::claim(config.ports);
  if (!claims) return std::unexpected(claims.error());
  auto state = std::make_unique<State>(config.verbose);
  state->claims = std::move(*claims);
  state->private_directory = provide_runtime_directory();
  state->hugepages = enough_hugepages(config.memory_mib);
  auto arguments = arguments_of(config, state->hugepages);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
    return fail(fmt::format("DPDK did not start ({}); it says:{}", rte_strerror(rte_errno),
                            state->log.said()),
                ExitCode::environment);
  state->folder.emplace(rte_eal_get_runtime_dir());
  note_set_down_in(&*state->folder);
  state->left_behind = state->folder->remove_others();
  if (!config.verbose) rte_log_set_global_level(RTE_LOG_NOTICE);
  return Eal(std::move(state));
}

Eal::Eal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Eal::Eal(Eal&&) noexcept = default;
Eal& Eal::operator=(Eal&&) noexcept = default;
Eal::~Eal() = default;

bool Eal::has_hugepages() const noexcept { return state_->hugepages; }

std::string Eal::notice() const {
  if (state_->hugepages) return "memory: hugepages";
  return "memory: ordinary (too few free hugepages): a physical NIC may not open, and with many "
         "frames in flight the packet rate is lower (`roce-gen doctor` says how to reserve them)";
}

std::string Eal::left_behind() const {
  return state_->left_behind.empty() ? ""
                                     : fmt::format("{}\n", fmt::join(state_->left_behind, "\n"));
}

void Eal::forget() const { state_->log.forget(); }
std::string Eal::said() const { return state_->log.said(); }

}  // namespace lw::nic
