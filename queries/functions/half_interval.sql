/*--- toml
answers = "Half the 95 % interval of an estimate that is normal around its value: 1.96 standard errors."
details = """
The interval is from value - half to value + half.
"""
source = "97.5 % point of the normal distribution"
returns = "double"

[params.error]
type = "double"
about = "standard error of the estimate"
---*/
SELECT 1.959963984540054e0 * $error AS half
