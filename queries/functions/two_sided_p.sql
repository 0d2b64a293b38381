/*--- toml
answers = "The two-sided p of a z, from its square: the upper tail of chi-square with one degree of freedom."
details = """
Give G2 as it is, and z * z of a z. The relative error is under 3e-8. For more degrees of freedom: chi_square_p().
"""
source = """
p = erfc(sqrt(x / 2)) = t exp(-x / 2 + polynomial in t), t = 1 / (1 + sqrt(x / 2) / 2), as in Press et al., Numerical Recipes;
our own fit, interpolated at Chebyshev's nodes"""
returns = "double"

[params.z_squared]
type = "double"
about = "square of a z, or a chi-square with one degree of freedom"
---*/
SELECT CASE WHEN $z_squared >= 0 THEN erfc_polynomial($z_squared, 1 / (1 + sqrt($z_squared / 2) / 2)) END AS p
