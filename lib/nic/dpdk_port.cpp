// SPDX-License-Identifier: BSD-3-Clause
#include "nic/dpdk_port.h"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <utility>

#include <fmt/core.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include "core/output.h"
#include "nic/clock.h"

namespace lw::nic {
namespace {

// Bytes before an IP packet: Ethernet header and up to two VLAN tags. The device adds the FCS.
constexpr std::uint32_t kLinkOverhead = 14 + 2 * 4;

/// Returns an error. `remedy`: text to append, or empty.
std::unexpected<Error> refuse(const Eal& eal, const std::string& port, std::string_view step,
                              int code, std::string_view remedy = "") {
  const std::string said = eal.said();
  const std::string_view quote = remedy.empty() ? "; DPDK says:" : "\nDPDK says:";
  return fail(fmt::format("port `{}`: {}: {}{}{}{}", port, step, rte_strerror(-code), remedy,
                          said.empty() ? "" : quote, said),
              ExitCode::environment);
}

/// Returns the remedy if a PCI device did not open because of its kernel driver, as text to append;
/// empty if DPDK can use the driver.
std::string how_to_bind(const std::string& address) {
  constexpr std::array<std::string_view, 6> kUsable = {"vfio-pci",  "igb_uio",   "uio_pci_generic",
                                                       "mlx4_core", "mlx5_core", "mana"};
  const std::string device = "/sys/bus/pci/devices/" + address;
  std::error_code none;
  const auto driver = std::filesystem::read_symlink(device + "/driver", none).filename().string();
  if (std::ranges::find(kUsable, driver) != kUsable.end()) return {};
  return fmt::format(
      "; it is bound to {}; expected vfio-pci, which takes the device from the kernel. As root:\n"
      "  modprobe vfio-pci; echo vfio-pci > {}/driver_override; {}echo {} > "
      "/sys/bus/pci/drivers_probe",
      driver.empty() ? "no driver" : "the kernel's driver " + driver, device,
      driver.empty() ? "" : fmt::format("echo {} > {}/driver/unbind; ", address, device), address);
}

/// Sets the MTU to the pool's largest frame where the device supports it. (af_packet reports 1518
/// but carries what its ring slot holds.)
rte_eth_conf configuration_for(const rte_eth_dev_info& info, std::uint32_t frame_size) {
  rte_eth_conf conf{};
  const std::uint32_t wanted = frame_size - kLinkOverhead;
  const bool settable = info.max_mtu > RTE_ETHER_MTU && info.max_rx_pktlen > RTE_ETHER_MAX_LEN;
  if (settable && wanted > RTE_ETHER_MTU)
    conf.rxmode.mtu =
        std::min<std::uint32_t>({wanted, info.max_mtu, info.max_rx_pktlen - kLinkOverhead});
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  return conf;
}

/// True if DPDK's pcap driver receives from an interface: the stamps of a file are of another day.
bool receives_by_libpcap(const RawSpec& device) noexcept {
  const std::string_view arguments = device.arguments;
  return device.driver() == "net_pcap" && arguments.find("iface=") != std::string_view::npos &&
         arguments.find("rx_pcap=") == std::string_view::npos;
}

}  // namespace

Result<std::uint16_t> probe_device(const Eal& eal, const PortSpec& spec, const Pool& pool) {
  static int ordinal = 0;
  auto device = device_arguments(spec, ordinal++, pool.config().frame_size);
  if (!device) return std::unexpected(device.error());
  eal.forget();
  std::uint16_t id = 0;
  const auto* pci = spec.as<PciSpec>();
  // DPDK already probes PCI devices when it starts; probing again gives an error.
  const bool probed = pci && rte_eth_dev_get_port_by_name(device->name.c_str(), &id) == 0;
  if (const int code = probed ? 0 : rte_dev_probe(device->arguments.c_str()); code < 0)
    return refuse(eal, spec.text, "did not open", code, pci ? how_to_bind(pci->address) : "");
  if (const int code = rte_eth_dev_get_port_by_name(device->name.c_str(), &id); code < 0)
    return refuse(eal, spec.text, "opened, but brought no Ethernet device", code);
  return id;
}

DpdkPort::DpdkPort(std::uint16_t id, const PortSpec& spec)
    : id_(id),
      pci_(spec.as<PciSpec>() != nullptr),
      send_limit_(frame_limit(spec).value_or(0)),
      name_(spec.text) {
  if (const auto* files = spec.as<PcapSpec>()) output_ = files->out;
  if (const auto* raw = spec.as<RawSpec>()) stamps_by_libpcap_ = receives_by_libpcap(*raw);
  if (const auto* linux_port = spec.as<InterfaceSpec>()) {
    const NetworkInterface interface(linux_port->interface);
    before_.emplace(interface, interface.is_set_promiscuous(), interface.mtu());
  }
}

DpdkPort::~DpdkPort() { close(); }

Result<void> DpdkPort::configure(const Eal& eal, const Pool& pool, const PortConfig& config) {
  rte_eth_dev_info info;
  if (const int code = rte_eth_dev_info_get(id_, &info); code < 0)
    return refuse(eal, name_, "tells nothing about itself", code);
  auto conf = configuration_for(info, pool.config().frame_size);
  // The device looks for the field when it starts, so register it before.
  constexpr std::uint64_t kTimed = RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
  if (config.timed_sending && (info.tx_offload_capa & kTimed) != 0 &&
      rte_mbuf_dyn_tx_timestamp_register(&time_field_, &time_flag_) == 0) {
    conf.txmode.offloads |= kTimed;
  }
  const bool by_device = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
  if (config.stamp_arrivals && (by_device || stamps_by_libpcap_)) arrivals_ = FrameStamps::find();
  if (arrivals_ && by_device) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  if (config.send_queues > info.max_tx_queues)
    return fail(
        fmt::format("port `{}` has {} send queue{}, and {} are wanted: one a core", name_,
                    info.max_tx_queues, info.max_tx_queues == 1 ? "" : "s", config.send_queues),
        ExitCode::environment);
  if (const int code = rte_eth_dev_configure(id_, 1, config.send_queues, &conf); code < 0)
    return refuse(eal, name_, "can't be configured", code);
  std::uint16_t receive_ring = config.receive_ring, send_ring = config.send_ring;
  rte_eth_dev_adjust_nb_rx_tx_desc(id_, &receive_ring, &send_ring);
  const auto socket = static_cast<unsigned>(SOCKET_ID_ANY);
  if (const int code = rte_eth_rx_queue_setup(id_, 0, receive_ring, socket, nullptr, pool.get());
      code < 0)
    return refuse(eal, name_, "can't receive into this pool", code);
  for (std::uint16_t queue = 0; queue < config.send_queues; ++queue) {
    if (const int code = rte_eth_tx_queue_setup(id_, queue, send_ring, socket, nullptr); code < 0)
      return refuse(eal, name_, "can't send", code);
  }
  if (const int code = start(); code != 0 && !may_start_later())
    return refuse(eal, name_, "did not start", code);
  if (arrivals_ && by_device) count_arrivals_in_device_clock();
  receive_all();
  return {};
}

/// The programs receive all frames. A device without a filter may report an error. DPDK's drivers
/// for Linux interfaces would set the interface's flag for good, and have cleared it at the start.
void DpdkPort::receive_all() noexcept {
  if (!before_) return static_cast<void>(rte_eth_promiscuous_enable(id_));
  const NetworkInterface& interface = before_->interface;
  if (interface.is_set_promiscuous() != before_->is_promiscuous)
    interface.set_promiscuous(before_->is_promiscuous);
  before_->mtu_of_driver = interface.mtu();
  all_frames_.emplace(interface.index());
}

/// Undoes what DPDK's driver has changed on a Linux interface, and nobody has changed since.
void DpdkPort::restore_interface() noexcept {
  if (!before_) return;
  all_frames_.reset();
  if (before_->mtu && before_->mtu != before_->mtu_of_driver &&
      before_->interface.mtu() == before_->mtu_of_driver)
    before_->interface.set_mtu(*before_->mtu);
}

int DpdkPort::start() noexcept {
  const int code = rte_eth_dev_start(id_);
  started_ = code == 0;
  return code;
}

void DpdkPort::stop() noexcept {
  if (started_) rte_eth_dev_stop(id_);
  started_ = false;
}

void DpdkPort::close() noexcept {
  if (id_ == kClosed) return;
  rte_eth_stats sent{};
  if (!output_.empty()) rte_eth_stats_get(id_, &sent);
  stop();
  rte_eth_dev_close(std::exchange(id_, kClosed));
  restore_interface();
  if (!output_.empty()) check_output(sent);
}

/// Compares the size of the capture that DPDK writes with what was sent, because DPDK ignores write
/// errors.
void DpdkPort::check_output(const rte_eth_stats& sent) const noexcept {
  constexpr std::uint64_t kFileHeader = 24, kRecordHeader = 16;
  const std::uint64_t whole = kFileHeader + kRecordHeader * sent.opackets + sent.obytes;
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(output_, unknown)) return;
  const std::uint64_t size = std::filesystem::file_size(output_, unknown);
  if (unknown || size >= whole) return;
  report_at_end(fail(fmt::format("{}: cannot be written: {} of {} bytes are in it, and its last "
                                 "record may be cut",
                                 output_, size, whole),
                     ExitCode::environment));
}

std::size_t DpdkPort::receive(std::span<rte_mbuf*> out) noexcept {
  const std::size_t count =
      rte_eth_rx_burst(id_, 0, out.data(), static_cast<std::uint16_t>(out.size()));
  if (arrivals_) arrivals_->read(out.first(count));
  return count;
}

/// Without a reading of its clock, nothing is known of a device's stamps.
void DpdkPort::count_arrivals_in_device_clock() {
  if (auto clock = device_clock()) {
    arrivals_->count_in(std::move(*clock));
  } else {
    arrivals_.reset();
  }
}

std::span<const std::int64_t> DpdkPort::stamps() const noexcept {
  return arrivals_ ? arrivals_->last() : std::span<const std::int64_t>();
}

std::optional<Duration> DpdkPort::stamp_uncertainty() const noexcept {
  return arrivals_ ? std::optional(arrivals_->uncertainty()) : std::nullopt;
}

/// DPDK's AF_XDP driver would write long frames beyond the end of their buffers.
std::size_t DpdkPort::send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept {
  const auto fits = [this](const rte_mbuf* frame) {
    return send_limit_ == 0 || frame->pkt_len <= send_limit_;
  };
  std::size_t done = 0;
  while (done < frames.size()) {
    const auto rest = frames.subspan(done);
    const auto count =
        static_cast<std::uint16_t>(std::ranges::find_if_not(rest, fits) - rest.begin());
    const std::uint16_t sent = rte_eth_tx_burst(id_, queue, rest.data(), count);
    done += sent;
    if (sent < count || done == frames.size()) break;
    rte_pktmbuf_free(frames[done]);
    too_long_.add();
    ++done;
  }
  return done;
}

bool DpdkPort::link_up() const noexcept {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

Port::LinkState DpdkPort::link_state() const noexcept {
  return pci_ && !link_up() ? Port::LinkState::down : Port::LinkState::up;
}

bool DpdkPort::set_link(bool up) noexcept {
  return (up ? rte_eth_dev_set_link_up(id_) : rte_eth_dev_set_link_down(id_)) == 0;
}

std::optional<double> DpdkPort::link_bps() const {
  constexpr double kMega = 1e6;
  rte_eth_link link{};
  if (!pci_ || rte_eth_link_get_nowait(id_, &link) != 0) return std::nullopt;
  if (link.link_speed == RTE_ETH_SPEED_NUM_NONE || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
    return std::nullopt;
  return link.link_speed * kMega;
}

std::optional<DeviceClock> DpdkPort::device_clock() const {
  constexpr Duration kApart = std::chrono::milliseconds(10);
  const auto device = [id = id_]() -> std::optional<std::uint64_t> {
    std::uint64_t tick = 0;
    if (rte_eth_read_clock(id, &tick) != 0) return std::nullopt;
    return tick;
  };
  DeviceClock clock(device, [] { return now(); });
  if (!clock.start(kApart)) return std::nullopt;
  return clock;
}

std::optional<TimedSending> DpdkPort::timed_sending() const {
  if (time_field_ < 0) return std::nullopt;
  auto clock = device_clock();
  if (!clock) return std::nullopt;
  return TimedSending(time_field_, time_flag_, std::move(*clock));
}

std::array<std::byte, 6> DpdkPort::mac_address() const noexcept {
  rte_ether_addr address{};
  rte_eth_macaddr_get(id_, &address);
  return std::bit_cast<std::array<std::byte, 6>>(address);
}

PortStats DpdkPort::stats() const {
  rte_eth_stats s{};
  rte_eth_stats_get(id_, &s);
  return {.received = s.ipackets,
          .sent = s.opackets,
          .missed = s.imissed,
          .no_buffer = s.rx_nombuf,
          .receive_errors = s.ierrors,
          .send_errors = s.oerrors,
          .unsent_too_long = too_long_.get()};
}

}  // namespace lw::nic
