// The cases that prove the gradient rules.
#ifndef GRAPHRUN_TESTS_IR_GRADIENTS_RULE_CASES_H_
#define GRAPHRUN_TESTS_IR_GRADIENTS_RULE_CASES_H_

#include <vector>

#include "tests/ir/gradients/central_differences.h"

namespace graphrun::ir {

std::vector<RuleCase> elementwiseCases();
std::vector<RuleCase> mathCases();
std::vector<RuleCase> tensorCases();
std::vector<RuleCase> indexCases();
std::vector<RuleCase> nnCases();
std::vector<RuleCase> recurrentCases();
std::vector<RuleCase> windowCases();
std::vector<RuleCase> signalCases();
std::vector<RuleCase> commCases();

}  // namespace graphrun::ir

#endif  // GRAPHRUN_TESTS_IR_GRADIENTS_RULE_CASES_H_
