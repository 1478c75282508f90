// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/mpi_module.h"

#include <cstddef>
#include <mpi.h>

namespace lw::gen {
namespace {

void join(int& rank, int& size) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

void leave() { MPI_Finalize(); }

void send(int to, int kind, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, kind, MPI_COMM_WORLD);
}

bool poll(int& from, int& kind, std::string& text) {
  int arrived = 0, size = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, &status);
  if (arrived == 0) return false;
  MPI_Get_count(&status, MPI_CHAR, &size);
  from = status.MPI_SOURCE;
  kind = status.MPI_TAG;
  text.assign(static_cast<std::size_t>(size), 0);
  MPI_Recv(text.data(), size, MPI_CHAR, from, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return true;
}

}  // namespace

extern "C" const MpiModule* longwire_mpi_module() {
  static constexpr MpiModule kModule{join, leave, send, poll};
  return &kModule;
}

}  // namespace lw::gen
