//===- text.cpp - A graph as text -------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/graph.h"

#include <charconv>
#include <cmath>

namespace ltc {

namespace {

void printString(std::string &out, std::string_view text) {
  static const char *digits = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

/// The shortest text that reads back as the same number, and never as an int.
void printDouble(std::string &out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string_view text(buffer, size_t(end - buffer));
  out += text;
  if (text.find_first_not_of("-0123456789") == text.npos)
    out += ".0";
}

void printValue(std::string &out, ValueId value) {
  if (value == kNoValue)
    out += "none";
  else
    out += '%' + std::to_string(value);
}

/// `keyword` makes an empty list say what it is a list of.
template <typename T, typename Print>
void printList(std::string &out, std::string_view keyword,
               const std::vector<T> &list, Print print) {
  if (list.empty())
    out += keyword;
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i)
      out += ", ";
    print(out, list[i]);
  }
  out += ']';
}

void printSize(std::string &out, const Graph &graph, int64_t size) {
  if (isSymbolic(size) && formulaNumber(size) < graph.formulas.size())
    out += graph.formulaOf(size).str();
  else
    out += std::to_string(size);
}

void printType(std::string &out, const Graph &graph, const ValueType &type) {
  if (type.isScalar || type.tensor.isStatic()) {
    out += type.str();
    return;
  }
  out += name(type.tensor.dtype);
  printList(out, "", type.tensor.dims,
            [&](std::string &out, int64_t dim) { printSize(out, graph, dim); });
}

struct PrintAttribute {
  std::string &out;
  const Graph &graph;

  void operator()(std::monostate) const { out += "none"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(int64_t value) const { printSize(out, graph, value); }
  void operator()(double value) const { printDouble(out, value); }
  void operator()(const std::string &value) const { printString(out, value); }
  void operator()(DType value) const { out += name(value); }
  void operator()(const std::vector<int64_t> &list) const {
    printList(out, "", list, [&](std::string &out, int64_t value) {
      printSize(out, graph, value);
    });
  }
  void operator()(const std::vector<double> &list) const {
    printList(out, "floats", list, printDouble);
  }
  void operator()(const std::vector<bool> &list) const {
    printList(out, "bools", list, [](std::string &out, bool value) {
      out += value ? "true" : "false";
    });
  }
};

void printArgument(std::string &out, const Graph &graph,
                   const Argument &argument) {
  out += argument.name;
  out += '=';
  if (auto *attribute = std::get_if<Attribute>(&argument.value))
    std::visit(PrintAttribute{out, graph}, *attribute);
  else if (auto *value = std::get_if<ValueId>(&argument.value))
    printValue(out, *value);
  else
    printList(out, "values", std::get<std::vector<ValueId>>(argument.value),
              printValue);
}

void printSource(std::string &out, SourceId id) {
  Source source = sourceOf(id);
  if (source.empty())
    return;
  out += " loc ";
  printString(out, source.file);
  out += ':' + std::to_string(source.line);
  if (source.function.empty())
    return;
  out += ' ';
  printString(out, source.function);
}

void printNode(std::string &out, const Graph &graph, const Node &node,
               ValueId first, SourceLines lines) {
  for (size_t i = 0; i < node.results.size(); ++i) {
    out += i ? ", " : "  ";
    printValue(out, first + ValueId(i));
  }
  out += " = " + node.op + '(';
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    if (i)
      out += ", ";
    printArgument(out, graph, node.arguments[i]);
  }
  out += ')';
  for (size_t i = 0; i < node.results.size(); ++i) {
    out += i ? ", " : " : ";
    printType(out, graph, {node.results[i], false});
  }
  if (lines == SourceLines::Show)
    printSource(out, node.source);
  out += '\n';
}

} // namespace

std::string str(const Attribute &attribute) {
  std::string out;
  static const Graph none; // a number is all that is known of a symbolic size
  std::visit(PrintAttribute{out, none}, attribute);
  return out;
}

std::string Graph::str(SourceLines lines) const {
  std::string out = "graph {\n";
  for (size_t i = 0; i < symbols.size(); ++i)
    out += "  symbol s" + std::to_string(i) + " = " +
           std::to_string(symbols[i]) + '\n';
  ValueId next = 0;
  for (const ValueType &type : inputs) {
    out += "  %" + std::to_string(next++) + " = input ";
    printType(out, *this, type);
    out += '\n';
  }
  for (const Node &node : nodes) {
    printNode(out, *this, node, next, lines);
    next += ValueId(node.results.size());
  }
  for (const GraphOutput &output : outputs) {
    out += "  output ";
    printValue(out, output.value);
    if (output.donated)
      out += " donates %" + std::to_string(*output.donated);
    out += '\n';
  }
  return out + "}\n";
}

} // namespace ltc
