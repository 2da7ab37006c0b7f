//===- called-functions.cpp - What of the compiler a compile calls --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   called-functions graph.ltc...     compile them, print names of functions
//
// A sixth of the compiler's functions take part in a compile. Side by side in
// the library, those are resident and nothing else is: the linker gets their
// names in the order of their first calls. Each has a breakpoint in its first
// byte, which its first call takes away.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/stages.h"

#include "ltc/graph.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <link.h>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace {

/// This program, in its file and in memory.
struct Program {
  const unsigned char *file = nullptr;
  uintptr_t base = 0;
  const Elf64_Shdr *text = nullptr;
  const Elf64_Shdr *symbols = nullptr;

  template <typename T> const T *at(size_t offset) const {
    return reinterpret_cast<const T *>(file + offset);
  }
  std::span<const Elf64_Sym> allSymbols() const {
    return {at<Elf64_Sym>(symbols->sh_offset),
            symbols->sh_size / sizeof(Elf64_Sym)};
  }
  bool isFunction(const Elf64_Sym &symbol) const {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size &&
           symbol.st_value - text->sh_addr < text->sh_size;
  }
};

Program program;
constexpr size_t kMaxCalls = 1 << 20;
size_t calls[kMaxCalls];
size_t callCount = 0;

/// Calls nothing, and stands where no breakpoints are.
__attribute__((section(".text_without_breakpoints"))) void
takeAway(int, siginfo_t *, void *context) {
  auto *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  size_t address = size_t(--registers[REG_RIP]) - program.base;
  size_t place = program.text->sh_offset + address - program.text->sh_addr;
  reinterpret_cast<unsigned char *>(program.base)[address] =
      program.file[place];
  if (size_t i = __sync_fetch_and_add(&callCount, 1); i < kMaxCalls)
    calls[i] = address;
}

bool findProgram() {
  int file = open("/proc/self/exe", O_RDONLY);
  struct stat info;
  if (file < 0 || fstat(file, &info))
    return false;
  void *data =
      mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED)
    return false;
  program.file = static_cast<unsigned char *>(data);
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *) {
        program.base = info->dlpi_addr; // the program comes first
        return 1;
      },
      nullptr);
  const auto *header = program.at<Elf64_Ehdr>(0);
  const auto *sections = program.at<Elf64_Shdr>(header->e_shoff);
  size_t names = sections[header->e_shstrndx].sh_offset;
  for (size_t i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type == SHT_SYMTAB)
      program.symbols = &sections[i];
    if (!std::strcmp(program.at<char>(names + sections[i].sh_name), ".text"))
      program.text = &sections[i];
  }
  return program.symbols && program.text;
}

__attribute__((section(".text_without_breakpoints"))) void
plant(const size_t *places, size_t count) {
  constexpr unsigned char breakpoint = 0xCC; // int3
  for (size_t i = 0; i < count; ++i)
    reinterpret_cast<unsigned char *>(program.base)[places[i]] = breakpoint;
}

bool setBreakpoints() {
  if (!findProgram())
    return false;
  struct sigaction action{};
  action.sa_sigaction = takeAway;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  uintptr_t begin = program.base + program.text->sh_addr;
  uintptr_t end = begin + program.text->sh_size;
  begin -= begin % page;
  if (mprotect(reinterpret_cast<void *>(begin), end - begin,
               PROT_READ | PROT_WRITE | PROT_EXEC))
    return false;
  std::vector<size_t> places;
  for (const Elf64_Sym &symbol : program.allSymbols())
    if (program.isFunction(symbol))
      places.push_back(symbol.st_value);
  plant(places.data(), places.size());
  return true;
}

void printNames() {
  const auto *sections =
      program.at<Elf64_Shdr>(program.at<Elf64_Ehdr>(0)->e_shoff);
  size_t strings = sections[program.symbols->sh_link].sh_offset;
  std::multimap<size_t, const char *> names; // equal functions are one
  for (const Elf64_Sym &symbol : program.allSymbols())
    if (program.isFunction(symbol))
      names.emplace(symbol.st_value,
                    program.at<char>(strings + symbol.st_name));
  std::set<size_t> known;
  for (size_t i = 0, end = std::min(callCount, kMaxCalls); i < end; ++i)
    if (known.insert(calls[i]).second)
      for (auto [name, last] = names.equal_range(calls[i]); name != last;
           ++name)
        std::puts(name->second);
}

bool compile(const char *path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  ltc::CompileOptions options;
  auto graph = ltc::Graph::parse(text.str());
  if (!graph) {
    std::cerr << path << ": " << graph.error().str() << '\n';
    return false;
  }
  auto artifact = ltc::compiler::compileGraph(*graph, options);
  if (!artifact)
    std::cerr << path << ": " << artifact.error().str() << '\n';
  return bool(artifact);
}

} // namespace

int main(int count, char **paths) {
  if (!setBreakpoints()) {
    std::cerr << "called-functions: code cannot be written to here; the "
                 "compiler library gets no order\n";
    return 0;
  }
  for (int i = 1; i < count; ++i)
    if (!compile(paths[i]))
      return 1;
  printNames();
  return 0;
}
