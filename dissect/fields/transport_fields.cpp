// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "dissect/fields/fields.h"

namespace lw::dissect {
namespace {

void append_bth(FieldList& fields, const wire::Bth& bth) {
  fields.number("infiniband.bth.opcode", bth.opcode.get());
  fields.number("infiniband.bth.se", bth.solicited_event());
  fields.number("infiniband.bth.m", bth.mig_req());
  fields.number("infiniband.bth.padcnt", bth.pad_count());
  fields.number("infiniband.bth.tver", bth.version());
  fields.number("infiniband.bth.p_key", bth.p_key.get());
  fields.number("infiniband.bth.fecn", bth.fecn());
  fields.number("infiniband.bth.becn", bth.becn());
  fields.number("infiniband.bth.reserved6", bth.congestion.get() & wire::Bth::kReserved6);
  fields.hex("infiniband.bth.destqp", bth.dest_qp.get(), 6);
  fields.number("infiniband.bth.a", bth.ack_req());
  fields.number("infiniband.bth.reserved7", bth.acknowledge.get() & wire::Bth::kReserved7);
  fields.number("infiniband.bth.psn", bth.psn().value());
}

void append_datagram_headers(FieldList& fields, const roce::Frame& frame) {
  if (frame.rdeth) fields.number("infiniband.rdeth.eecnxt", frame.rdeth->ee_context.get());
  if (frame.deth) {
    fields.hex("infiniband.deth.q_key", frame.deth->q_key.get(), 16);
    fields.hex("infiniband.deth.srcqp", frame.deth->src_qp.get(), 8);
  }
  if (frame.xrceth) fields.hex("infiniband.xrceth.xrcsrq", frame.xrceth->xrc_srq.get(), 6);
}

/// An AtomicETH's address and key go by the RETH's names, as in Wireshark.
void append_memory_headers(FieldList& fields, const roce::Frame& frame) {
  if (frame.feth) {
    fields.number("infiniband.feth.plt", frame.feth->fields().placement);
    fields.number("infiniband.feth.sel", frame.feth->fields().selectivity);
  }
  if (frame.reth) {
    fields.hex("infiniband.reth.va", frame.reth->va.get(), 16);
    fields.hex("infiniband.reth.r_key", frame.reth->r_key.get(), 8);
    fields.number("infiniband.reth.dmalen", frame.reth->dma_length.get());
  }
  if (frame.atomiceth) {
    fields.hex("infiniband.reth.va", frame.atomiceth->va.get(), 16);
    fields.hex("infiniband.reth.r_key", frame.atomiceth->r_key.get(), 8);
    fields.number("infiniband.atomiceth.swapdt", frame.atomiceth->swap_or_add.get());
    fields.number("infiniband.atomiceth.cmpdt", frame.atomiceth->compare.get());
  }
}

std::string_view value_name(wire::AethKind kind) noexcept {
  switch (kind) {
    case wire::AethKind::ack:
      return "infiniband.aeth.syndrome.credit_count";
    case wire::AethKind::rnr_nak:
      return "infiniband.aeth.syndrome.timer";
    case wire::AethKind::reserved:
      return "infiniband.aeth.syndrome.reserved_value";
    case wire::AethKind::nak:
      return "infiniband.aeth.syndrome.error_code";
  }
  return "";
}

void append_aeth(FieldList& fields, const wire::Aeth& aeth) {
  fields.number("infiniband.aeth.syndrome", aeth.syndrome.get());
  fields.number("infiniband.aeth.syndrome.reserved", aeth.syndrome.get() >> 7);
  fields.number("infiniband.aeth.syndrome.opcode", static_cast<std::uint64_t>(aeth.kind()));
  fields.number(value_name(aeth.kind()), aeth.value());
  fields.number("infiniband.aeth.msn", aeth.msn.get());
}

}  // namespace

void append_transport_fields(FieldList& fields, const roce::Frame& frame) {
  append_bth(fields, *frame.bth);
  append_datagram_headers(fields, frame);
  append_memory_headers(fields, frame);
  if (frame.aeth) append_aeth(fields, *frame.aeth);
  if (frame.atomicacketh) {
    fields.number("infiniband.atomicacketh.origremdt", frame.atomicacketh->original.get());
  }
  // Wireshark shows these two as bytes.
  if (frame.immdt) {
    fields.text("infiniband.immdt", fmt::format("{:08x}", frame.immdt->immediate.get()));
  }
  if (frame.ieth) fields.text("infiniband.ieth", fmt::format("{:08x}", frame.ieth->r_key.get()));
}

}  // namespace lw::dissect
