/*--- toml
answers = "What two_sided_p is made of: the complementary error function of sqrt(x / 2), by a polynomial in t."
source = "our own fit, interpolated at Chebyshev's nodes; see two_sided_p"
returns = "double"

[params.x]
type = "double"
about = "twice the square of the argument of erfc"

[params.t]
type = "double"
about = "1 / (1 + sqrt(x / 2) / 2)"
---*/
SELECT least($t * exp(
  -$x / 2 - 1.26551212348e0 + $t * (0.999999539036e0 + $t * (0.375039205952e0 + $t * (0.0822840787015e0
    + $t * (-0.0723798896755e0 + $t * (-0.243590067818e0 + $t * (0.360099153211e0 + $t * (-1.26249163408e0
      + $t * (2.43208863084e0 + $t * (-2.2215605681e0 + $t * (0.994780962681e0 - $t * 0.178757287262e0))))))))))
), 1) AS p
