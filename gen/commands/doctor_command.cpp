// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <memory>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/machine.h"
#include "core/output.h"
#include "core/quantity.h"
#include "gen/commands/commands.h"
#include "gen/commands/outputs.h"
#include "nic/eal.h"
#include "nic/interface.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

namespace fs = std::filesystem;

/// One property of the machine, and what it means for a run.
struct Finding {
  std::string topic;
  std::string state = "ok";  // "note": works, less fast or exact; "problem": something cannot work
  std::string found;
  std::string meaning = {}, fix = {};  // of a note or a problem
};

/// Returns the names in a folder below /sys, sorted.
std::vector<std::string> sys_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator("/sys/" + folder, unknown))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Finding kernel() { return {.topic = "kernel", .found = app::kernel_release()}; }

/// Returns the effective capabilities, as the kernel's bits.
std::uint64_t capability_bits() {
  std::ifstream file("/proc/self/status");
  constexpr std::string_view kKey = "CapEff:\t";
  std::uint64_t bits = 0;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey))
      std::from_chars(line.data() + kKey.size(), line.data() + line.size(), bits, 16);
  return bits;
}

Finding capabilities() {
  constexpr std::pair<int, std::string_view> kNeeded[] = {{13, "CAP_NET_RAW"},
                                                          {12, "CAP_NET_ADMIN"}};
  const std::uint64_t bits = capability_bits();
  std::vector<std::string_view> have, missing;
  for (const auto& [bit, name] : kNeeded) (bits >> bit & 1 ? have : missing).push_back(name);
  if (missing.empty())
    return {.topic = "capabilities", .found = fmt::format("{}", fmt::join(have, ", "))};
  return {
      .topic = "capabilities",
      .state = "problem",
      .found = fmt::format("no {}", fmt::join(missing, ", ")),
      .meaning = "network interfaces cannot be opened; memif, vhost, pcap and null ports work",
      .fix = "run as root, or: sudo setcap cap_net_raw,cap_net_admin+ep $(command -v roce-gen)"};
}

Finding hugepages() {
  if (const std::string free = app::free_hugepages(); !free.empty())
    return {.topic = "hugepages", .found = free};
  return {.topic = "hugepages",
          .state = "note",
          .found = "none free",
          .meaning =
              "buffers are in ordinary memory: a long path takes more CPU time per frame, and "
              "a PCI device may not open",
          .fix = "echo 1024 | sudo tee /proc/sys/vm/nr_hugepages"};
}

Finding clock_source() {
  const std::string source = app::clock_source();
  constexpr std::string_view kFast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"};
  if (std::ranges::find(kFast, source) != std::end(kFast))
    return {.topic = "clock source", .found = source};
  return {.topic = "clock source",
          .state = "note",
          .found = source.empty() ? "unknown" : source,
          .meaning = "reading the clock is a system call: sending and delays are less exact",
          .fix =
              "echo tsc | sudo tee "
              "/sys/devices/system/clocksource/clocksource0/current_clocksource"};
}

Finding cores() {
  const std::size_t usable = nic::allowed_cpus().size();
  const std::string isolated = app::isolated_cpus();
  const std::string found =
      fmt::format("{} usable, isolated: {}", usable, isolated.empty() ? "none" : isolated);
  if (!isolated.empty()) return {.topic = "cores", .found = found};
  constexpr std::size_t kEnough = 4;  // two to poll, two for all else
  const std::vector<int> cpus = nic::allowed_cpus();
  const std::string fix = usable < kEnough
                              ? std::string(
                                    "use a machine with four cores or more: two of them for the "
                                    "ports, isolated from other work")
                              : fmt::format(
                                    "boot with isolcpus={0},{1} nohz_full={0},{1} and give these "
                                    "cores to --core",
                                    cpus[cpus.size() - 2], cpus.back());
  return {.topic = "cores",
          .state = "note",
          .found = found,
          .meaning =
              "other work may take a polling core for milliseconds: frames leave late, and "
              "delays of a path vary",
          .fix = fix};
}

Finding frequency() {
  const std::string governor = app::sys_line("devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty() || governor == "performance")
    return {.topic = "frequency", .found = governor.empty() ? "not controlled here" : governor};
  return {
      .topic = "frequency",
      .state = "note",
      .found = governor,
      .meaning = "a core that was idle starts slowly: the first frames leave late",
      .fix = "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"};
}

Finding iommu() {
  const std::size_t groups = sys_names("kernel/iommu_groups").size();
  if (groups > 0) return {.topic = "IOMMU", .found = fmt::format("{} groups", groups)};
  return {
      .topic = "IOMMU",
      .state = "note",
      .found = "none",
      .meaning =
          "vfio-pci takes PCI devices only in its unsafe mode, and only with hugepages; "
          "interfaces do not need it",
      .fix = "boot with intel_iommu=on or amd_iommu=on, and enable VT-d or AMD-Vi in the firmware"};
}

/// Lists PCI devices with a driver that DPDK uses.
Finding pci_devices() {
  std::vector<std::string> devices;
  for (const char* driver : {"vfio-pci", "igb_uio", "uio_pci_generic"})
    for (const std::string& name : sys_names(std::string("bus/pci/drivers/") + driver))
      if (name.find(':') != std::string::npos)
        devices.push_back(fmt::format("{} ({})", name, driver));
  if (!devices.empty())
    return {.topic = "PCI ports", .found = fmt::format("{}", fmt::join(devices, ", "))};
  return {
      .topic = "PCI ports",
      .state = "note",
      .found = "no device is bound to vfio-pci",
      .meaning = "frames pass through the kernel's interfaces, which takes more CPU time per frame",
      .fix =
          "sudo dpdk-devbind.py --bind=vfio-pci ADDRESS, unless the NIC's driver is mlx4 or mlx5"};
}

/// Returns a setting of an interface, as ethtool reads it; false if the interface does not have it.
bool ethtool_flag(const std::string& name, std::uint32_t command, std::uint32_t mask) {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ethtool_value value = {.cmd = command, .data = 0};
  ifreq request = {};
  std::copy_n(name.data(), std::min(name.size(), std::size_t{IFNAMSIZ - 1}), request.ifr_name);
  request.ifr_data = reinterpret_cast<char*>(&value);
  const bool answered = descriptor >= 0 && ioctl(descriptor, SIOCETHTOOL, &request) == 0;
  if (descriptor >= 0) close(descriptor);
  return answered && (value.data & mask) != 0;
}

/// Returns the largest path MTU with frames that fit `mtu`; 0: none. Headers are IPv6, UDP, BTH,
/// RETH, immediate and ICRC: 84 B.
std::uint32_t path_mtu_within(std::uint32_t mtu) {
  constexpr std::uint32_t kHeaders = 40 + 8 + 12 + 16 + 4 + 4;
  for (const std::uint32_t path_mtu : {4096u, 2048u, 1024u, 512u, 256u})
    if (mtu >= path_mtu + kHeaders) return path_mtu;
  return 0;
}

/// Adds a property of an interface that reduces speed or precision, with the remedy.
void add_reason(Finding& finding, const std::string& meaning, const std::string& fix) {
  finding.state = "note";
  finding.meaning += (finding.meaning.empty() ? "" : "; ") + meaning;
  finding.fix += (finding.fix.empty() ? "" : " && ") + fix;
}

/// Formats an interface: "mlx5_core, up, MTU 9000, 100.00 Gb/s, GRO".
std::string interface_text(const nic::NetworkInterface& asked, std::uint32_t mtu, bool gro,
                           bool lro) {
  const std::string driver = app::sys_link("class/net/" + asked.name() + "/device/driver");
  const auto bps = asked.bps();
  return fmt::format("{}, {}, MTU {}{}{}{}", driver.empty() ? "virtual" : driver,
                     asked.is_running() ? "up"
                     : asked.is_up()    ? "up, no carrier"
                                        : "down",
                     mtu, bps ? ", " + format_bit_rate(*bps) : "", gro ? ", GRO" : "",
                     lro ? ", LRO" : "");
}

Finding interface(const std::string& name) {
  const nic::NetworkInterface asked(name);
  const std::uint32_t mtu = asked.mtu().value_or(0), path_mtu = path_mtu_within(mtu);
  const bool gro = ethtool_flag(name, ETHTOOL_GGRO, 1);
  const bool lro = ethtool_flag(name, ETHTOOL_GFLAGS, ETH_FLAG_LRO);
  Finding finding{.topic = "interface " + name, .found = interface_text(asked, mtu, gro, lro)};
  if (!asked.is_up()) {  // nobody sends through it as it is: one finding is enough
    add_reason(finding, "a run waits for its link", fmt::format("sudo ip link set {} up", name));
    return finding;
  }
  if (path_mtu < 4096)
    add_reason(finding, fmt::format("RoCE frames of a path MTU above {} B do not fit", path_mtu),
               fmt::format("sudo ip link set {} mtu 4200", name));
  if (gro || lro)
    add_reason(finding,
               "TCP frames that the kernel merges are cut apart again, which takes CPU time; RoCE "
               "frames are not merged",
               fmt::format("sudo ethtool -K {} gro off lro off", name));
  return finding;
}

std::vector<Finding> examine() {
  std::vector<Finding> list = {kernel(),       capabilities(), cores(), frequency(),
                               clock_source(), hugepages(),    iommu(), pci_devices()};
  for (const std::string& name : sys_names("class/net"))
    if (name != "lo" && nic::NetworkInterface(name).index() != 0) list.push_back(interface(name));
  return list;
}

void print_list(const std::vector<Finding>& list, bool json) {
  for (const Finding& finding : list) {
    if (json) {
      print_out(report::json_line(kFindingOutput, finding));
      continue;
    }
    const auto& [topic, state, found, meaning, fix] = finding;
    print_out(fmt::format("{:<7}  {}: {}\n", state, topic, found));
    if (!meaning.empty()) print_out(fmt::format("         {}\n         fix: {}\n", meaning, fix));
  }
}

}  // namespace

const FigureTable& finding_figures() {
  using Row = FigureOf<Finding>;
  static constexpr std::string_view kStates[] = {"ok", "note", "problem"};
  static constexpr Figure kRows[] = {
      Row::of<&Finding::topic>("topic", "What was examined."),
      Row::of<&Finding::state>("state",
                               "note: works, less fast or exact; problem: something cannot work.")
          .among(kStates),
      Row::of<&Finding::found>("found", "What was found."),
      Row::of<&Finding::meaning>("meaning", "What it costs; empty if nothing."),
      Row::of<&Finding::fix>("fix", "Commands that mend it; empty if none.")};
  static constexpr FigureTable kTable{"A finding about the machine; a line each.", kRows};
  return kTable;
}

app::Command doctor_command() {
  auto json = std::make_shared<bool>(false);
  app::Command command{
      .name = "doctor",
      .help =
          "Examine the machine: what limits the speed and the accuracy of runs, and the remedies",
      .examples = "roce-gen doctor\nroce-gen doctor --json | jq 'select(.state != \"ok\")'",
      .run =
          [json] {
            print_list(examine(), *json);
            return ExitCode::done;
          },
  };
  command.options.add_flag("--json", *json, "print one line of JSON per finding");
  return command;
}

}  // namespace lw::gen
