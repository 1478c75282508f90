// SPDX-License-Identifier: BSD-3-Clause
#include "nic/port_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::nic {
namespace {

using testing::HasSubstr;

template <class Kind>
Kind parsed(std::string_view text) {
  const auto spec = parse_port_spec(text);
  EXPECT_TRUE(spec) << text;
  if (!spec || !spec->as<Kind>()) {
    ADD_FAILURE() << text << " is another kind of port";
    return {};
  }
  EXPECT_EQ(spec->text, text);
  return *spec->as<Kind>();
}

std::string refusal(std::string_view text) {
  const auto spec = parse_port_spec(text);
  if (spec) return "";
  EXPECT_EQ(spec.error().exit, ExitCode::usage);
  return spec.error().message;
}

TEST(PortSpec, LinuxInterface) {
  EXPECT_EQ(parsed<InterfaceSpec>("eth1").interface, "eth1");
  EXPECT_EQ(parsed<InterfaceSpec>("eth1").driver, InterfaceSpec::Driver::packet_port);
  EXPECT_FALSE(parsed<InterfaceSpec>("eth1").queueing);
  EXPECT_EQ(parsed<InterfaceSpec>("eth1,qdisc").interface, "eth1");
  EXPECT_TRUE(parsed<InterfaceSpec>("eth1,qdisc").queueing);
  EXPECT_EQ(parsed<InterfaceSpec>("enp59s0f0np0").interface, "enp59s0f0np0");
  EXPECT_EQ(parsed<InterfaceSpec>("eth1.100").interface, "eth1.100");
  EXPECT_EQ(parsed<InterfaceSpec>("af_packet:null").interface, "null");
  EXPECT_EQ(parsed<InterfaceSpec>("af_packet:eth1").driver, InterfaceSpec::Driver::af_packet);
  EXPECT_TRUE(packet_port_of(*parse_port_spec("eth1")));
  for (const auto* text : {"af_packet:eth1", "af_xdp:eth1", "null", "net_tap0,iface=x"})
    EXPECT_FALSE(packet_port_of(*parse_port_spec(text))) << text;
}

TEST(PortSpec, AfXdpOnRequest) {
  for (const auto* text : {"eth1,af_xdp", "af_xdp:eth1"}) {
    EXPECT_EQ(parsed<InterfaceSpec>(text).interface, "eth1");
    EXPECT_EQ(parsed<InterfaceSpec>(text).driver, InterfaceSpec::Driver::af_xdp);
  }
}

TEST(PortSpec, OnlyAfXdpLimitsFrames) {
  EXPECT_LT(frame_limit(*parse_port_spec("af_xdp:eth1")).value_or(0), 4096U);
  for (const auto* text : {"eth1", "af_packet:eth1", "null", "memif:x"})
    EXPECT_FALSE(frame_limit(*parse_port_spec(text))) << text;
}

TEST(PortSpec, PciAddress) {
  EXPECT_EQ(parsed<PciSpec>("0000:3b:00.0").address, "0000:3b:00.0");
  EXPECT_EQ(parsed<PciSpec>("3b:00.1").address, "0000:3b:00.1");
  EXPECT_EQ(parsed<PciSpec>("0001:AF:1f.7").address, "0001:AF:1f.7");
}

TEST(PortSpec, Memif) {
  EXPECT_EQ(parsed<MemifSpec>("memif:/run/x.sock").socket, "/run/x.sock");
  EXPECT_FALSE(parsed<MemifSpec>("memif:/run/x.sock").server);
  EXPECT_FALSE(parsed<MemifSpec>("memif:x,client").server);
  EXPECT_TRUE(parsed<MemifSpec>("memif:x,server").server);
}

TEST(PortSpec, Vhost) {
  EXPECT_EQ(parsed<VhostSpec>("vhost:/run/x.sock").socket, "/run/x.sock");
  EXPECT_FALSE(parsed<VhostSpec>("vhost:/run/x.sock").client);
  EXPECT_FALSE(parsed<VhostSpec>("vhost:x,server").client);
  EXPECT_TRUE(parsed<VhostSpec>("vhost:x,client").client);
  const std::vector<PortSpec> same = {*parse_port_spec("vhost:x"), *parse_port_spec("vhost:./x")};
  EXPECT_FALSE(check_distinct(same));
  const std::vector<PortSpec> memifs = {*parse_port_spec("memif:x"), *parse_port_spec("memif:./x")};
  EXPECT_FALSE(check_distinct(memifs));
}

TEST(PortSpec, Pcap) {
  EXPECT_EQ(parsed<PcapSpec>("pcap:a.pcap").in, "a.pcap");
  EXPECT_EQ(parsed<PcapSpec>("pcap:a.pcap").out, "");
  EXPECT_EQ(parsed<PcapSpec>("pcap:a.pcap,b.pcap").out, "b.pcap");
  EXPECT_EQ(parsed<PcapSpec>("pcap:,b.pcap").in, "");
  EXPECT_EQ(parsed<PcapSpec>("pcap:,b.pcap").out, "b.pcap");
}

TEST(PortSpec, NullAndRaw) {
  parsed<NullSpec>("null");
  EXPECT_EQ(parsed<RawSpec>("net_tap0,iface=x").arguments, "net_tap0,iface=x");
  EXPECT_EQ(parsed<RawSpec>("net_tap0,iface=x").device(), "net_tap0");
  EXPECT_EQ(parsed<RawSpec>("net_tap0,iface=x").driver(), "net_tap");
  EXPECT_EQ(parsed<RawSpec>("--vdev=virtio_user0,path=y").arguments, "virtio_user0,path=y");
}

/// What is behind a virtual port is on this machine.
TEST(PortSpec, VirtualPortsAreNoDevicesOfABus) {
  for (const char* text : {"memif:/tmp/x", "vhost:/tmp/x", "null", "pcap:,out.pcap", "lo",
                           "net_ring0", "net_tap0,iface=x", "--vdev=net_memif0"})
    EXPECT_TRUE(is_virtual(*parse_port_spec(text))) << text;
  for (const char* text : {"0000:3b:00.0", "3b:00.0", "net_af_packet0,iface=eth0", "net_bonding0"})
    EXPECT_FALSE(is_virtual(*parse_port_spec(text))) << text;
}

TEST(PortSpec, RefusalsSayWhatWasExpected) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("memif:"), HasSubstr("path of its socket"));
  EXPECT_THAT(refusal("memif:x,sever"), HasSubstr("found `sever`"));
  EXPECT_THAT(refusal("memif:x,"), HasSubstr("found ``"));
  EXPECT_THAT(refusal("memif:" + std::string(108, 'x')), HasSubstr("107"));
  EXPECT_THAT(refusal("vhost:"), HasSubstr("vhost: needs the path of its socket"));
  EXPECT_THAT(refusal("vhost:x,sever"), HasSubstr("found `sever`"));
  EXPECT_THAT(refusal("vhost:a=b"), HasSubstr("`=`"));
  EXPECT_THAT(refusal("pcap:"), HasSubstr("pcap:,OUT"));
  EXPECT_THAT(refusal("pcap:,"), HasSubstr("pcap:,OUT"));
  EXPECT_THAT(refusal("pcap:a,b,c"), HasSubstr("can't hold `,`"));
  EXPECT_THAT(refusal("pcap:a=b"), HasSubstr("`=`"));
  EXPECT_THAT(refusal("pcap:a,b.pcap.gz"), HasSubstr("name it b.pcap"));
  EXPECT_THAT(refusal("3b:00.8"), HasSubstr("0000:3b:00.0"));
  EXPECT_THAT(refusal("eth1/x"), HasSubstr("eth1/x"));
  EXPECT_THAT(refusal("an_interface_name_too_long"), HasSubstr("memif:PATH[,server]"));
  EXPECT_THAT(refusal("--vdev="), HasSubstr("no device"));
  EXPECT_THAT(refusal(std::string_view("eth\0", 4)), HasSubstr("control character"));
}

TEST(PortSpec, OnlyFilesEnd) {
  for (const auto* text : {"pcap:a", "pcap:a,b"}) EXPECT_TRUE(reads_file(*parse_port_spec(text)));
  for (const auto* text : {"pcap:,b", "null", "net_null0", "memif:x", "eth1"})
    EXPECT_FALSE(reads_file(*parse_port_spec(text))) << text;
}

TEST(PortSpec, OnlyDriversThatCopyTakePackedBuffers) {
  for (const auto* text :
       {"eth1", "memif:x", "vhost:x", "pcap:x", "null", "net_tap0,iface=x", "net_null3"})
    EXPECT_FALSE(needs_eal_memory(*parse_port_spec(text))) << text;
  for (const auto* text : {"eth1,af_xdp", "3b:00.0", "net_mlx5", "--vdev=virtio_user0"})
    EXPECT_TRUE(needs_eal_memory(*parse_port_spec(text))) << text;
}

}  // namespace
}  // namespace lw::nic
